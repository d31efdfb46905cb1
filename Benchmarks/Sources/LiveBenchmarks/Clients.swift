import BenchmarkSupport
import Foundation
import HTTPClientCore
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import SocketHTTP
import Streams
import StrictJSON

/// What the JSON of a message says.
struct Like: Decodable, JSONDecodable, Sendable {
  let id: String
  let likes: Int
  let by: String

  init(from json: inout JSONReader) throws(JSONError) {
    var id: String?
    var likes: Int?
    var by: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readString()
      } else if json.key(is: "likes") {
        likes = try json.readInteger()
      } else if json.key(is: "by") {
        by = try json.readString()
      } else {
        try json.skipValue()
      }
    }
    self.id = try json.require(id, "id")
    self.likes = try json.require(likes, "likes")
    self.by = try json.require(by, "by")
  }
}

/// What a client makes of a message.
enum Kind: String, CaseIterable, Sendable {
  case text, json
}

/// The clients to compare.
enum Client: String, CaseIterable, Sendable {
  case sockets = "SocketTransport"
  case nio = "NIOWebSocket"
  case blocking = "blocking sockets"
  case python = "Python's websockets"

  /// Reads all messages up to the server's close; returns how many there were.
  func receive(_ kind: Kind, from url: URL) async throws -> Int {
    switch self {
    case .sockets: try await SocketClient.receive(kind, from: url)
    case .nio: try await NIOClient.receive(kind, from: url)
    case .blocking, .python: preconditionFailure("does not do this")
    }
  }

  /// Sends a message and waits for its echo, so many times.
  func echo(_ count: Int, _ text: String, at url: URL) async throws {
    switch self {
    case .sockets: try await SocketClient.echo(count, text, at: url)
    case .nio: try await NIOClient.echo(count, text, at: url)
    case .blocking: try BlockingClient.echo(count, text, at: url)
    case .python: preconditionFailure("is a process of its own")
    }
  }

  /// Opens so many connections; the result keeps them open. Those to a `wss` URL trust this certificate.
  func open(_ count: Int, at url: URL, trusting certificate: String) async throws -> any Sendable {
    switch self {
    case .sockets: try await SocketClient.open(count, at: url, trusting: certificate)
    case .nio: try await NIOClient.open(count, at: url, trusting: certificate)
    case .blocking, .python: preconditionFailure("does not do this")
    }
  }
}

enum SocketClient {
  private static let transport = SocketTransport()

  static func receive(_ kind: Kind, from url: URL) async throws -> Int {
    let counter = Counter()
    let events = try transport.connect(WebSocketRequest(url: url))
    return try await withCheckedThrowingContinuation { continuation in
      _ = events.subscribe(
        onNext: { event in
          if case .opened(let connection) = event { try? connection.send("go") }
          guard case .message(.text(let text)) = event else { return }
          switch kind {
          case .text: counter.add(text.utf8.count)
          case .json: if let like = try? Like(json: text) { counter.add(like.by.utf8.count) }
          }
        }, onError: { continuation.resume(throwing: $0) },
        onCompleted: { continuation.resume(returning: counter.count) })
    }
  }

  static func echo(_ count: Int, _ text: String, at url: URL) async throws {
    let counter = Counter()
    let events = try transport.connect(WebSocketRequest(url: url))
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      _ = events.subscribe(
        onNext: { event in
          switch event {
          case .opened(let connection):
            counter.connection = connection
            try? connection.send(text)
          case .message:
            counter.add(0)
            if counter.count < count { try? counter.connection?.send(text) } else { try? counter.connection?.close() }
          case .pong, .closed: break
          }
        }, onError: { continuation.resume(throwing: $0) }, onCompleted: { continuation.resume() })
    }
  }

  static func open(_ count: Int, at url: URL, trusting certificate: String) async throws -> any Sendable {
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.file(certificate)))
    let transport = url.scheme == "wss" ? SocketTransport(configuration: configuration) : transport
    let bag = DisposeBag()
    for _ in 0..<count {
      let events = try transport.connect(WebSocketRequest(url: url))
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        events.subscribe(
          onNext: { if case .opened = $0 { continuation.resume() } }, onError: { continuation.resume(throwing: $0) }
        ).disposed(by: bag)
      }
    }
    return [transport, bag] as [any Sendable]
  }
}

/// `@unchecked Sendable`: one event is delivered at a time.
final class Counter: @unchecked Sendable {
  private(set) var count = 0
  private var bytes = 0
  var connection: WebSocketConnection?

  func add(_ size: Int) {
    count += 1
    bytes += size
  }
}

enum NIOClient {
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  static func receive(_ kind: Kind, from url: URL) async throws -> Int {
    let counter = Counter()
    let channel = try await connect(url) { Receiving(kind, counter) }
    try await channel.closeFuture.get()
    return counter.count
  }

  static func echo(_ count: Int, _ text: String, at url: URL) async throws {
    let channel = try await connect(url) { Talking(count, text) }
    try await channel.closeFuture.get()
  }

  static func open(_ count: Int, at url: URL, trusting certificate: String) async throws -> any Sendable {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .file(certificate)
    let tls = url.scheme == "wss" ? try NIOSSLContext(configuration: configuration) : nil
    var channels: [any Channel] = []
    for _ in 0..<count { channels.append(try await connect(url, tls) { Receiving(.text, Counter()) }) }
    return channels
  }

  private static func connect(
    _ url: URL, _ tls: NIOSSLContext? = nil, _ makeHandler: @escaping @Sendable () -> any ChannelHandler & Sendable
  ) async throws -> any Channel {
    let upgraded = group.next().makePromise(of: Void.self)
    let upgrader = NIOWebSocketClientUpgrader(requestKey: NIOWebSocketClientUpgrader.randomRequestKey()) { channel, _ in
      let handler = makeHandler()
      return channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(handler)
      }.map { upgraded.succeed() }
    }
    let channel = try await ClientBootstrap(group: group)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { channel in
        let configuration: NIOHTTPClientUpgradeSendableConfiguration = (
          upgraders: [upgrader], completionHandler: { _ in }
        )
        return channel.eventLoop.makeCompletedFuture {
          if let tls {
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: nil))
          }
          try channel.pipeline.syncOperations.addHTTPClientHandlers(withClientUpgrade: configuration)
        }
      }
      .connect(host: url.host() ?? "", port: url.port ?? 0).get()
    let head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: url.path(), headers: ["Host": "127.0.0.1", "Content-Length": "0"])
    try await channel.eventLoop.submit {
      channel.pipeline.syncOperations.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
      channel.pipeline.syncOperations.writeAndFlush(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
    }.get()
    try await upgraded.futureResult.get()
    return channel
  }

  /// Without `NIOWebSocketFrameAggregator`, which messages in fragments would need, and which costs more.
  private final class Receiving: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let kind: Kind
    private let counter: Counter
    private let decoder = Foundation.JSONDecoder()

    init(_ kind: Kind, _ counter: Counter) {
      self.kind = kind
      self.counter = counter
    }

    func handlerAdded(context: ChannelHandlerContext) {
      let go = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(string: "go"))
      context.writeAndFlush(wrapOutboundOut(go), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let frame = unwrapInboundIn(data)
      switch frame.opcode {
      case .text:
        switch kind {
        case .text: counter.add(String(buffer: frame.unmaskedData).utf8.count)
        case .json:
          if let like = try? decoder.decode(Like.self, from: frame.unmaskedData) { counter.add(like.by.utf8.count) }
        }
      case .connectionClose: Masked.close(context)
      default: break
      }
    }
  }

  private final class Talking: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var left: Int
    private let text: String

    init(_ count: Int, _ text: String) {
      left = count
      self.text = text
    }

    func handlerAdded(context: ChannelHandlerContext) { send(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .text = unwrapInboundIn(data).opcode else { return context.close(promise: nil) }
      left -= 1
      if left > 0 { send(context) } else { Masked.close(context) }
    }

    private func send(_ context: ChannelHandlerContext) {
      let frame = WebSocketFrame(
        fin: true, opcode: .text, maskKey: .random(), data: context.channel.allocator.buffer(string: text))
      context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }
  }

  private enum Masked {
    static func close(_ context: ChannelHandlerContext) {
      let frame = WebSocketFrame(
        fin: true, opcode: .connectionClose, maskKey: .random(), data: ByteBuffer(bytes: [0x03, 0xE8]))
      context.writeAndFlush(NIOAny(frame), promise: nil)
    }
  }
}
