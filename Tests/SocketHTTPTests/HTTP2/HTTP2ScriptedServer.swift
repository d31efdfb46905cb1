import Foundation
import Streams
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// A server in HTTP/2 whose connections a closure plays frame by frame, each on a thread of its own. When it returns or
/// throws, the connection is closed.
final class HTTP2ScriptedServer: Sendable {
  let port: UInt16
  private let listener: Descriptor

  init(_ play: @escaping @Sendable (HTTP2ScriptedConnection) throws -> Void) throws {
    (listener, port) = try Loopback.listen(backlog: 512)
    Thread.detachNewThread { [listener] in
      var count = 0
      while true {
        let number = uninterrupted { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        var yes: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let socket = Descriptor(number)
        count += 1
        Thread.detachNewThread { [count] in
          try? play(HTTP2ScriptedConnection(socket, number: count))
          socket.close()
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  func request(
    _ path: String = "/", method: HTTPMethod = .get, body: Data? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(total: .seconds(20))
  ) throws -> HTTPRequest {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    return try HTTPRequest(method: method, url: url, body: body, timeouts: timeouts)
  }

  /// A transport that speaks HTTP/2 with it.
  func transport(_ configure: (inout SocketTransport.Configuration) -> Void = { _ in }) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configure(&configuration)
    return SocketTransport(configuration: configuration)
  }
}

/// The server's side of one connection, used by its thread alone. Its calls block.
final class HTTP2ScriptedConnection {
  struct Gone: Error {}

  /// Which one of the server's it is, from 1.
  let number: Int

  private let socket: Descriptor
  private var bytes: [UInt8] = []
  private var frames: ArraySlice<HTTP2ClientFrame> = []
  /// How many bytes the client has added to the connection's window.
  private(set) var given = 0

  /// Reads the client's preface, and sends settings that limit nothing.
  init(_ socket: Descriptor, number: Int) throws {
    (self.socket, self.number) = (socket, number)
    while bytes.count < HTTP2Driver.preface.count { try receive() }
    bytes.removeFirst(HTTP2Driver.preface.count)
    try send(HTTP2ServerFrame.settings())
  }

  func send(_ bytes: [UInt8]) throws {
    guard socket.send(bytes[...]) else { throw Gone() }
  }

  /// The next frame that is about a request. Settings and pings are answered.
  func readFrame() throws -> HTTP2ClientFrame {
    while true {
      let frame = try next()
      switch frame.type {
      case 4: if frame.flags == 0 { try send(HTTP2ServerFrame.acknowledgement) }
      case 6: if frame.flags == 0 { try send(HTTP2ServerFrame.frame(6, 1, 0, frame.payload)) }
      case 8: if frame.stream == 0 { given += Int(frame.number) }
      default: return frame
      }
    }
  }

  private func next() throws -> HTTP2ClientFrame {
    while true {
      if let frame = frames.popFirst() { return frame }
      try receive()
      frames = HTTP2ClientFrame.take(from: &bytes)[...]
    }
  }

  /// Waits until the client has read all that was sent until now; drops what it sends meanwhile.
  func waitUntilRead() throws {
    try send(HTTP2ServerFrame.ping(7))
    while true {
      let frame = try next()
      if frame.type == HTTP2FrameType.ping, frame.flags == 1 { return }
    }
  }

  /// Reads up to the next head of a request; returns its stream.
  func readHead() throws -> UInt32 {
    while true {
      let frame = try readFrame()
      if frame.type == 1 { return frame.stream }
    }
  }

  /// Reads up to the end of a request; returns its stream.
  func readRequest() throws -> UInt32 {
    while true {
      let frame = try readFrame()
      if frame.type <= 1, frame.flags & 1 != 0 { return frame.stream }
    }
  }

  /// Sends nothing more, and waits until the client has ended the connection.
  func finish() {
    shutdown(socket.number, Int32(SHUT_WR))
    while !socket.receive().isEmpty {}
  }

  private func receive() throws {
    let received = socket.receive()
    if received.isEmpty { throw Gone() }
    bytes += received
  }
}

/// What an observer of an exchange has seen, in order.
final class ExchangeLog: Sendable {
  enum Entry: Equatable {
    case head(Int)
    case body(String)
    case completed
    case failed(RequestError.Kind)

    var isEnd: Bool {
      switch self {
      case .head, .body: false
      case .completed, .failed: true
      }
    }
  }

  let entries = Monitor<[Entry]>([])
  let subscription: any Disposable

  init(_ parts: Observable<HTTPResponsePart>) {
    subscription = parts.subscribe(
      onNext: { [entries] part in
        switch part {
        case .head(let head): entries.update { $0.append(.head(head.status)) }
        case .body(let data): entries.update { $0.append(.body(String(decoding: data, as: UTF8.self))) }
        case .trailers: break
        }
      },
      onError: { [entries] error in entries.update { $0.append(.failed(RequestError(wrapping: error).kind)) } },
      onCompleted: { [entries] in entries.update { $0.append(.completed) } })
  }

  /// Waits for the end; returns all entries.
  func ended() async throws -> [Entry] {
    try await entries.wait(for: "the end") { $0.last?.isEnd ?? false }
  }
}
