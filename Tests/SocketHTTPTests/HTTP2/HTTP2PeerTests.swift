import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// The transport in HTTP/2 with servers that are in use everywhere.
@Suite(.serialized, .timeLimit(.minutes(2))) struct HTTP2PeerTests {
  private static let hasNginx = InstalledServer.Program.nginx.executable != nil
  private static let hasNghttpd = InstalledServer.Program.nghttpd.executable != nil

  /// Bytes that differ from place to place.
  private static func bytes(_ count: Int, seed: Int = 0) -> Data {
    // Repeated after a number of bytes that no block has: to compute all of them takes long.
    let period = Data((0..<min(count, 65_537)).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31 ^ ($0 >> 8)) })
    var bytes = period
    while bytes.count < count { bytes += period.prefix(count - bytes.count) }
    return bytes
  }

  /// Sends requests, so many at a time, and returns how many got this body.
  private func count(
    of requests: Int, atOnce width: Int, by transport: SocketTransport, _ request: HTTPRequest, with body: Data,
    each: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<width {
        group.addTask {
          var count = 0
          for number in 0..<requests / width {
            let response = try await transport.response(to: request, upTo: 64 << 20)
            #expect(response.head.status == 200)
            count += response.body == body ? 1 : 0
            each(task + number * width)
          }
          return count
        }
      }
      return try await group.reduce(0, +)
    }
  }

  @Test(.enabled(if: hasNginx), arguments: [false, true])
  func `nginx responds to many requests on one connection`(isSecure: Bool) async throws {
    let body = Self.bytes(3000)
    let server = try await InstalledServer.nginx(isSecure: isSecure, files: ["a": body])
    let transport = server.transport()
    let request = try server.request("/a", method: .post, body: Data("{}".utf8))
    #expect(try await count(of: 960, atOnce: 48, by: transport, request, with: body) == 960)
    #expect(transport.statistics().total.connections == 1)
  }

  @Test(.enabled(if: hasNginx)) func `bodies of 20 MB come from nginx and go to it`() async throws {
    let body = Self.bytes(20_000_000)
    let server = try await InstalledServer.nginx(files: ["large": body])
    let transport = server.transport()
    let request = try server.request("/large", method: .post, body: body)
    #expect(try await count(of: 3, atOnce: 3, by: transport, request, with: body) == 3)
  }

  @Test(.enabled(if: hasNginx))
  func `no mutation is lost when nginx closes each connection after a few requests`() async throws {
    let body = Self.bytes(100)
    let server = try await InstalledServer.nginx(files: ["a": body], "keepalive_requests 7;")
    let transport = server.transport()
    let request = try server.request("/a", method: .post, body: Data("{}".utf8))
    #expect(try await count(of: 400, atOnce: 20, by: transport, request, with: body) == 400)
  }

  @Test(.enabled(if: hasNginx)) func `no request is lost while nginx reads its configuration again`() async throws {
    let body = Self.bytes(2000)
    let server = try await InstalledServer.nginx(files: ["a": body])
    let transport = server.transport()
    let request = try server.request("/a")
    let count = try await count(of: 4000, atOnce: 16, by: transport, request, with: body) { number in
      if number % 500 == 250 { server.process.send(SIGHUP) }
    }
    #expect(count == 4000)
  }

  @Test(.enabled(if: hasNginx)) func `what nginx does not take at a time waits for its turn`() async throws {
    let body = Self.bytes(20_000)
    let server = try await InstalledServer.nginx(files: ["a": body], "http2_max_concurrent_streams 2;")
    let transport = server.transport { $0.maximumConnectionsPerOrigin = 1 }
    let request = try server.request("/a")
    #expect(try await count(of: 100, atOnce: 20, by: transport, request, with: body) == 100)
    #expect(transport.statistics().total.connections == 1)
  }

  @Test(.enabled(if: hasNghttpd), arguments: [false, true])
  func `nghttpd sends back what it is sent`(isSecure: Bool) async throws {
    let server = try await InstalledServer.nghttpd(isSecure: isSecure)
    let transport = server.transport()
    try await withThrowingTaskGroup { group in
      for (number, size) in [1, 100, 16_384, 70_000, 3_000_000, 5_000_000].enumerated() {
        group.addTask {
          let body = Self.bytes(size, seed: number)
          let request = try server.request("/", method: .post, body: body)
          #expect(try await transport.response(to: request).body == body)
        }
      }
      try await group.waitForAll()
    }
    #expect(transport.statistics().total.connections == 1)
  }

  @Test(.enabled(if: hasNghttpd)) func `trailers of nghttpd are passed on, and padding is read over`() async throws {
    let server = try await InstalledServer.nghttpd(isSecure: true, "--trailer", "checksum: abc", "--padding", "200")
    let transport = server.transport()
    let body = Self.bytes(100_000)
    let request = try server.request("/", method: .post, body: body)
    #expect(try await count(of: 40, atOnce: 8, by: transport, request, with: body) == 40)
    #expect(try await transport.response(to: request).trailers == ["checksum": "abc"])
  }
}
