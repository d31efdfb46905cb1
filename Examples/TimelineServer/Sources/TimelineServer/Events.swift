import GraphQLClient
import Hummingbird
import NIOCore
import ServiceLifecycle
import Streams
import StrictJSON

import struct HTTPClientCore.RequestError

/// How often a browser hears of the server at least, so that it can tell silence from a dead connection.
let beatInterval = Duration.seconds(5)

/// For how long a browser may take nothing of what was sent to it. It would keep its place for ever otherwise, and the
/// server from ending.
private let takingLimit = Duration.seconds(10)

/// A response that keeps a browser up to date by server-sent events: a message for each page, an event named `figures` for
/// each change of these, and one named `beat` while there is nothing new. What a browser that reads slowly has not got yet
/// is replaced by what is newer; one that takes nothing any more is disconnected. After ten minutes the response ends: the
/// browser connects again, and its token is checked.
func events(
  _ pages: Observable<TimelinePage>, _ figures: Observable<Figures>, of request: Request, on channel: any Channel,
  _ visitors: Visitors
) -> Response {
  let beats = Observable<Void>.every(beatInterval) {}
  let news = Observable.combineLatest(pages, figures, beats) { page, figures, _ in (page, figures) }
    .take(until: Observable.just(()).delay(.seconds(600), scheduler: ConcurrentScheduler()))
  let body = ResponseBody { writer in
    // Ends with the browser, and with the server.
    try await request.body.consumeWithCancellationOnInboundClose { _ in
      var (shownPage, shownFigures): (TimelinePage?, Figures?)
      do {
        for try await (page, figures) in news.values(bufferingPolicy: .bufferingNewest(1)).cancelOnGracefulShutdown() {
          var events = ByteBuffer()
          if page != shownPage { events.writeEvent(data: try JSONCoder().encode(page)) }
          if figures != shownFigures { events.writeEvent("figures", data: try JSONCoder().encode(figures)) }
          if events.readableBytes == 0 { events.writeEvent("beat", data: "{}".utf8) }
          let disconnection = Task {
            try await Task.sleep(for: takingLimit)
            channel.close(promise: nil)
          }
          defer { disconnection.cancel() }
          try await writer.write(events)
          (shownPage, shownFigures) = (page, figures)
        }
      } catch let error as RequestError {
        // The browser connects again; if the BFF refuses its token, its events end, and it signs in.
        if error.isUnauthenticated { visitors.recheck(request) }
      }
    }
    try await writer.finish(nil)
  }
  return Response(
    status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"], body: body)
}

extension ByteBuffer {
  /// Writes a server-sent event, whose data is one line.
  fileprivate mutating func writeEvent(_ name: String = "message", data: some Sequence<UInt8>) {
    writeString("event: \(name)\ndata: ")
    writeBytes(data)
    writeString("\n\n")
  }
}
