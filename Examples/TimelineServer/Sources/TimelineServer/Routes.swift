import Foundation
import GraphQLClient
import Hummingbird
import Logging
import Models
import ServiceLifecycle
import Stores
import Streams
import StrictJSON

import struct HTTPClientCore.RequestError

/// The routes:
///
/// - `POST /login?user=0` signs a user in, and sets the cookie that the others need; where a browser has those of
///   several users, `as=0` in the query says which one counts;
/// - `GET /timelines/0?page=1` gives a page of 20 moments as JSON, with its age;
/// - `GET /timelines/0/events?page=1` sends the page at once, and whenever it changes, as server-sent events, and
///   ``Figures`` as events of that name;
/// - `PUT /timelines/0/likes/m0-7` and `DELETE` set and remove a like of the signed-in user;
/// - `GET /` is a page for the browser on top of these;
/// - `GET /health` says that the server runs, whatever the backend does.
///
/// Wherever there is `GET`, there is `HEAD`.
func router(_ timelines: Timelines, _ visitors: Visitors) -> Router<BasicRequestContext> {
  let router = Router(options: .autoGenerateHeadEndpoints)
  router.get("health") { _, _ in "ok\n" }
  router.addMiddleware {
    TracingMiddleware()
    LogRequestsMiddleware(.info)
    MetricsMiddleware()
  }
  router.get("/") { _, _ in
    Response(
      status: .ok, headers: [.contentType: "text/html; charset=utf-8"], body: .init(byteBuffer: .init(string: page)))
  }
  router.post("login") { request, _ in
    let userID = try request.uri.queryParameters.require("user")
    let visitor = try await withRefusals { try await timelines.logIn(userID) }
    var response = Response(status: .noContent)
    response.setCookie(visitors.admit(visitor))
    return response
  }
  router.get("timelines/:user") { request, context in
    let userID = try context.parameter("user")
    let page = try request.page
    let snapshot = try await visitors.serve(request) { visitor, policy in
      try await timelines.timeline(of: userID, for: visitor, policy)
    }
    return try json(TimelinePage(snapshot, page))
  }
  router.get("timelines/:user/events") { request, context in
    let userID = try context.parameter("user")
    let page = try request.page
    let updates = try await visitors.serve(request) { visitor, policy in
      _ = try await timelines.timeline(of: userID, for: visitor, policy)
      return timelines.updates(of: userID, for: visitor)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: events(updates, timelines.figures, page: page, of: request, visitors))
  }
  for (method, isLiked) in [(HTTPRequest.Method.put, true), (.delete, false)] {
    router.on("timelines/:user/likes/:moment", method: method) { request, context in
      let (ownerID, momentID) = (try context.parameter("user"), try context.parameter("moment"))
      try await visitors.serve(request) { visitor, _ in
        try await timelines.setLike(isLiked, momentID: momentID, in: ownerID, for: visitor)
      }
      return Response(status: .noContent)
    }
  }
  return router
}

extension RequestContext {
  /// A part of the path, of which Hummingbird gives the bytes as they came: `m0%2D3` is `m0-3`.
  fileprivate func parameter(_ name: String) throws -> String {
    guard let text = try parameters.require(name).removingPercentEncoding else {
      throw HTTPError(.badRequest, message: "The path is not UTF-8.")
    }
    return text
  }
}

extension Request {
  /// The page that the query names; the first one by default.
  fileprivate var page: Int {
    get throws {
      guard let text = uri.queryParameters.get("page") else { return 1 }
      guard let page = Int(text), page >= 1 else { throw HTTPError(.badRequest, message: "Pages are counted from 1.") }
      return page
    }
  }
}

/// How often a browser hears of the server at least, so that it can tell silence from a dead connection.
let beatInterval = Duration.seconds(15)

/// What there is to write to a browser: the newest of each kind.
private struct News: Sendable {
  enum Update: Sendable {
    case timeline(MomentsSnapshot)
    case figures(Figures)
    case beat
  }

  private(set) var timeline: MomentsSnapshot?
  /// How many timelines there were.
  private(set) var number = 0
  private(set) var figures: Figures?

  func with(_ update: Update) -> News {
    var news = self
    switch update {
    case .timeline(let snapshot): (news.timeline, news.number) = (snapshot, number + 1)
    case .figures(let figures): news.figures = figures
    case .beat: break
    }
    return news
  }
}

/// A page of each snapshot as a server-sent event, until the browser leaves or the server shuts down, and for ten
/// minutes at most: then the browser connects again, and its token is checked. Only the newest snapshot waits for a
/// browser that reads slowly. Events named `figures` have what the server does; while there is nothing new, one named
/// `beat` says that the server is there.
private func events(
  _ updates: Observable<MomentsSnapshot>, _ figures: Observable<Figures>, page: Int, of request: Request,
  _ visitors: Visitors
) -> ResponseBody {
  ResponseBody { writer in
    try await request.body.consumeWithCancellationOnInboundClose { _ in
      let scheduler = ConcurrentScheduler()
      let beats = Observable.from(1...40).concatMap { _ in
        Observable<News.Update>.just(.beat).delay(beatInterval, scheduler: scheduler)
      }
      let timelines = updates.filter { $0.value != nil }.map { News.Update.timeline($0) }
      // What is not new is a beat.
      let newest = Observable.merge([timelines, figures.map { News.Update.figures($0) }, beats])
        .scan(News()) { news, update in news.with(update) }
        .take(until: Observable.just(()).delay(beatInterval * 40, scheduler: scheduler))
      var (written, shown) = (0, Figures?.none)
      do {
        for try await news in newest.values(bufferingPolicy: .bufferingNewest(1)).cancelOnGracefulShutdown() {
          var event = ByteBuffer()
          if let snapshot = news.timeline, news.number > written {
            written = news.number
            event.writeString("data: ")
            event.writeBytes(try JSONCoder().encode(TimelinePage(snapshot, page)))
            event.writeString("\n\n")
          }
          if let figures = news.figures, figures != shown {
            shown = figures
            event.writeString("event: figures\ndata: ")
            event.writeBytes(try JSONCoder().encode(figures))
            event.writeString("\n\n")
          }
          if event.readableBytes == 0 { event.writeString("event: beat\ndata: {}\n\n") }
          try await writer.write(event)
        }
      } catch let error as RequestError {
        // The browser connects again; if the BFF refuses its token, its events end, and it signs in.
        if error.isUnauthenticated { visitors.recheck(request) }
      }
    }
    try await writer.finish(nil)
  }
}

/// A page of a timeline, as the browser gets it.
struct TimelinePage: Codable, Sendable {
  static let size = 20

  let owner: String
  let page: Int
  let pageCount: Int
  /// How many seconds ago the BFF sent it.
  let age: Double
  /// Whether the BFF was asked for a newer one, and has not given it.
  let isOffline: Bool
  let moments: [MomentsDetails.Moment]

  init(_ snapshot: MomentsSnapshot, _ page: Int) throws {
    let timeline = try snapshot.requireValue()
    owner = timeline.userDetails.name
    self.page = page
    pageCount = (timeline.moments.count + Self.size - 1) / Self.size
    age = snapshot.age / .seconds(1)
    isOffline = !snapshot.errors.isEmpty && !snapshot.isPartial
    let (start, isTooLarge) = (page - 1).multipliedReportingOverflow(by: Self.size)
    moments = isTooLarge ? [] : Array(timeline.moments.dropFirst(start).prefix(Self.size))
  }
}

private func json(_ value: some Encodable) throws -> Response {
  let body = try JSONCoder().encode(value)
  return Response(
    status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(bytes: body)))
}
