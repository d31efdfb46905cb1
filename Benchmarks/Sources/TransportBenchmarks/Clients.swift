import AsyncHTTPClient
import BenchmarkSupport
import Foundation
import HTTPClientCore
import NIOCore
import NIOHTTP1
import NIOSSL
import SocketHTTP
import Streams
import URLSessionHTTP

/// The clients to compare.
enum Client: String, CaseIterable, Sendable {
  case sockets = "SocketTransport"
  case socketsHTTP2 = "SocketTransport, HTTP/2"
  case asyncHTTPClient = "async-http-client"
  case asyncHTTPClientHTTP2 = "async-http-client, HTTP/2"
  case urlSession = "URLSession"
  case blocking = "blocking sockets"

  /// Those that are compared in HTTP/1.1.
  static let inHTTP1: [Client] = [.sockets, .asyncHTTPClient, .urlSession, .blocking]

  /// A closure that sends one request and waits for the whole response.
  func makeSender(_ load: Load) throws -> @Sendable () async throws -> Void {
    switch self {
    case .sockets, .socketsHTTP2: return try Self.sender(through: transport(load), load)
    case .urlSession:
      return try Self.sender(through: URLSessionTransport(), load)
    case .asyncHTTPClient: return Self.asyncHTTPClientSender(load, .http1Only)
    case .asyncHTTPClientHTTP2: return Self.asyncHTTPClientSender(load, .automatic)
    case .blocking:
      preconditionFailure("has no sender")
    }
  }

  /// Our transport for a load, in the version of HTTP of this case.
  func transport(_ load: Load) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = self == .socketsHTTP2 ? .priorKnowledge : .http1
    configuration.maximumConnectionsPerOrigin = max(load.width, 8)
    configuration.tls = TLSConfiguration(trust: .only(.file(load.certificate)))
    return SocketTransport(configuration: configuration)
  }

  private static func sender(
    through transport: some HTTPTransport, _ load: Load
  ) throws -> @Sendable () async throws -> Void {
    guard let url = URL(string: load.url) else { throw URLError(.badURL) }
    let headers: HTTPClientCore.HTTPHeaders = ["Content-Type": "application/json", "Accept": "application/json"]
    let body = Data(count: load.size)
    return {
      let request = try HTTPRequest(method: .post, url: url, headers: headers, body: body)
      let response = try await transport.send(request).collect(upTo: 1 << 20).value
      guard response.body.count == load.size else { throw URLError(.badServerResponse) }
    }
  }

  private static func asyncHTTPClientSender(
    _ load: Load, _ version: HTTPClient.Configuration.HTTPVersion
  ) -> @Sendable () async throws -> Void {
    var tls = TLSConfiguration_.makeClientConfiguration()
    tls.trustRoots = .file(load.certificate)
    var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(load.width, 8)
    configuration.httpVersion = version
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let body = ByteBuffer(repeating: 0, count: load.size)
    return {
      var request = HTTPClientRequest(url: load.url)
      request.method = .POST
      request.headers.add(name: "Content-Type", value: "application/json")
      request.headers.add(name: "Accept", value: "application/json")
      request.body = .bytes(body)
      let response = try await client.execute(request, timeout: .seconds(10))
      let answer = try await response.body.collect(upTo: 1 << 20)
      let isExpected = response.version == (version == .http1Only ? .http1_1 : .http2)
      guard isExpected, answer.readableBytes == load.size else { throw URLError(.badServerResponse) }
    }
  }
}

extension LoadResult {
  /// Prints a line of a table.
  func print(_ title: String, _ client: Client) {
    Swift.print(
      "| \(title) | \(client.rawValue) | \(Int(rate)) | \(Int(p50)) | \(Int(p99)) | \(processor.formatted(1)) "
        + "| \(memory.formatted(1)) |")
  }
}

private typealias TLSConfiguration_ = NIOSSL.TLSConfiguration
