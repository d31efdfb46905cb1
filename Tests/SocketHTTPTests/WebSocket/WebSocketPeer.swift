import Foundation
import Streams
import TestSupport

@testable import HTTPClientCore
@testable import SocketHTTP

/// A server of WebSocket connections, each of which a closure plays on a thread of its own. When it returns or throws,
/// the connection is closed.
final class WebSocketPeerServer: Sendable {
  let port: UInt16
  /// How many connections there have been, and how many of them are over.
  let counts = Monitor<(accepted: Int, over: Int)>((0, 0))

  private let listener: Descriptor

  init(_ play: @escaping @Sendable (WebSocketPeer) throws -> Void) throws {
    (listener, port) = try Loopback.listen(backlog: 512)
    Thread.detachNewThread { [listener, counts] in
      while true {
        let number = uninterrupted { Glibc.accept(listener.number, nil, nil) }
        guard number >= 0 else { break }
        var yes: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        let socket = Descriptor(number)
        counts.update { $0.accepted += 1 }
        Thread.detachNewThread {
          try? play(WebSocketPeer(socket))
          socket.close()
          counts.update { $0.over += 1 }
        }
      }
      listener.close()
    }
  }

  deinit {
    listener.shutDown()
  }

  func request(
    _ path: String = "/", subprotocols: [String] = [], _ change: (inout WebSocketRequest) throws -> Void = { _ in }
  ) throws -> WebSocketRequest {
    guard let url = URL(string: "ws://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
    var request = try WebSocketRequest(url: url, subprotocols: subprotocols)
    try change(&request)
    return request
  }
}

/// The server's side of one connection, used by its thread alone. Its calls block.
final class WebSocketPeer {
  struct Gone: Error {}

  struct Frame: Equatable {
    var opcode: UInt8
    var payload: [UInt8]

    static func text(_ text: String) -> Frame { Frame(opcode: 1, payload: Array(text.utf8)) }

    static func close(_ code: UInt16, _ reason: String = "") -> Frame {
      Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.utf8)
    }
  }

  let socket: Descriptor
  private var buffer: [UInt8] = []

  init(_ socket: Descriptor) {
    self.socket = socket
  }

  // MARK: - The handshake

  /// Reads the head of a request.
  func readHead() throws -> String {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let range = buffer.firstRange(of: end) {
        let head = String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
        buffer.removeSubrange(..<range.upperBound)
        return head
      }
      try receive()
    }
  }

  /// The response that accepts the upgrade with this head.
  static func acceptance(of head: String, _ fields: [String] = []) -> [UInt8] {
    let key = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key: ") } ?? ""
    let lines =
      [
        "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Accept: \(Handshake.accept(for: String(key.dropFirst(19))))",
      ] + fields
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// Accepts the upgrade; returns the head of the request.
  @discardableResult
  func accept(_ fields: [String] = []) throws -> String {
    let head = try readHead()
    try send(Self.acceptance(of: head, fields))
    return head
  }

  // MARK: - Frames

  func send(_ bytes: [UInt8]) throws {
    guard socket.send(bytes[...]) else { throw Gone() }
  }

  /// Reads a frame, which must be masked.
  func readFrame() throws -> Frame {
    let head = try take(2)
    guard head[1] & 0x80 != 0 else { throw Gone() }
    let length =
      switch head[1] & 0x7F {
      case 126: try take(2).reduce(0) { $0 << 8 | Int($1) }
      case 127: try take(8).reduce(0) { $0 << 8 | Int($1) }
      case let length: Int(length)
      }
    let key = try take(4)
    let payload = try take(length).enumerated().map { $1 ^ key[$0 % 4] }
    return Frame(opcode: head[0] & 0xF, payload: payload)
  }

  /// Reads up to the client's close, answers it, and reads up to the end; returns the close.
  @discardableResult
  func close() throws -> Frame {
    while true {
      let frame = try readFrame()
      guard frame.opcode == 8 else { continue }
      try send(ServerFrame.bytes(8, frame.payload))
      return frame
    }
  }

  /// Waits until the client has ended the connection.
  func waitForEnd() {
    while !socket.receive().isEmpty {}
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try receive() }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  private func receive() throws {
    let bytes = socket.receive()
    if bytes.isEmpty { throw Gone() }
    buffer += bytes
  }
}

/// What an observer of a connection has seen, in order.
final class WebSocketLog: Sendable {
  enum Entry: Equatable {
    case opened(String?)
    case message(WebSocketMessage)
    case pong(Data)
    case closed(WebSocketClosure)
    case failed(RequestError.Kind)
    case completed
  }

  let entries = Monitor<[Entry]>([])
  let connection = Monitor<WebSocketConnection?>(nil)
  let error = Monitor<RequestError?>(nil)
  private let subscription = Monitor<(any Disposable)?>(nil)

  /// Subscribes; `work` is done after each entry, on the observer's thread.
  init(_ events: Observable<WebSocketEvent>, work: @escaping @Sendable (Entry) -> Void = { _ in }) {
    let add: @Sendable (Entry) -> Void = { [entries] entry in
      entries.update { $0.append(entry) }
      work(entry)
    }
    let disposable = events.subscribe(
      onNext: { [connection] event in
        switch event {
        case .opened(let handle):
          connection.update { $0 = handle }
          add(.opened(handle.subprotocol))
        case .message(let message): add(.message(message))
        case .pong(let payload): add(.pong(payload))
        case .closed(let closure): add(.closed(closure))
        }
      },
      onError: { [error] failure in
        let failure = RequestError(wrapping: failure)
        error.update { $0 = failure }
        add(.failed(failure.kind))
      },
      onCompleted: { add(.completed) })
    subscription.update { $0 = disposable }
  }

  func dispose() { subscription.value?.dispose() }

  /// Waits for the handle.
  func opened() async throws -> WebSocketConnection {
    _ = try await entries.wait(for: "the connection") {
      $0.contains { if case .opened = $0 { true } else { false } } || $0.last?.isEnd ?? false
    }
    guard let connection = connection.value else { throw error.value ?? RequestError(.unknown, "It did not open.") }
    return connection
  }

  /// Waits for the end; returns all entries.
  func ended() async throws -> [Entry] {
    try await entries.wait(for: "the end") { $0.last?.isEnd ?? false }
  }

  var texts: [String] {
    entries.value.compactMap { if case .message(.text(let text)) = $0 { text } else { nil } }
  }
}

extension WebSocketLog.Entry {
  var isEnd: Bool {
    switch self {
    case .failed, .completed: true
    case .opened, .message, .pong, .closed: false
    }
  }

  static func text(_ text: String) -> Self { .message(.text(text)) }
  static func closed(_ code: WebSocketCloseCode, _ reason: String = "") -> Self {
    .closed(WebSocketClosure(code: code, reason: reason))
  }
}
