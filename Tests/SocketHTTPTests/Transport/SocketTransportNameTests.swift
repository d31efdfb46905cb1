import Foundation
import HTTPTestSupport
import Streams
import SystemBase
import TestSupport
import Testing
import TransportConformance

@testable import HTTPClientCore
@testable import SocketHTTP

/// Names with several addresses, and names whose look-up does not come back.
@Suite struct SocketTransportNameTests {
  private let request: HTTPRequest
  private let server: ScriptedServer

  init() throws {
    server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    request = try HTTPRequest(method: .get, url: url("http://several.test/"))
  }

  /// A transport for which every name has the addresses that a closure gives.
  private func transport(
    idleTime: Duration = .seconds(60), resolving addresses: @escaping @Sendable () throws -> [SocketAddress]
  ) -> SocketTransport {
    var configuration = SocketTransport.Configuration()
    configuration.idleTime = idleTime
    return SocketTransport(
      configuration: configuration,
      resolver: AddressResolver { _, _ in .success((try? addresses()) ?? []) })
  }

  private static func address(_ port: UInt16, on host: String = "127.0.0.1") throws -> SocketAddress {
    try #require(SocketAddress(numericHost: host, port: Int(port)))
  }

  @Test func `an address that does not respond is not waited for longer than a quarter of a second`() async throws {
    let away = try UnansweredPort()
    let addresses = try [Self.address(away.port), Self.address(server.port)]
    try await expectDelay(of: .milliseconds(250)) {
      let transport = transport { addresses }
      let start = ContinuousClock.now
      let response = try await transport.response(to: request)
      #expect(response.head.isSuccess)
      return .now - start
    }
    #expect(away.attempts ?? 0 == 0)
  }

  @Test func `an address that did not respond is not waited for by the next connection`() async throws {
    let away = try UnansweredPort()
    let addresses = try [Self.address(away.port), Self.address(server.port)]
    try await expectDelay(of: .zero, leeway: .milliseconds(200)) {
      let transport = transport(idleTime: .zero) { addresses }
      _ = try await transport.response(to: request)
      let start = ContinuousClock.now
      _ = try await transport.response(to: request)
      return .now - start
    }
    #expect(server.log.value.connections.count >= 2)
  }

  @Test func `T6: a resolver's error that is slow to describe itself delays no other request`() async throws {
    let error = SocketTransportStreamUploadTests.Slow()
    var configuration = SocketTransport.Configuration()
    configuration.proxy = .none
    let asked = Latch()
    configuration.resolver = { host in
      if host == "localhost" { return ["127.0.0.1"] }
      asked.open()
      throw error
    }
    let transport = SocketTransport(configuration: configuration)
    let unknown = try HTTPRequest(method: .get, url: url("http://unknown.test/"))
    async let failure = transport.send(unknown).collect(upTo: 100).failure
    try await asked.wait()
    let known = try HTTPRequest(method: .get, url: url("http://localhost:\(server.port)/"))
    let subscription = transport.send(known).subscribe(onCompleted: { error.end.signal() })
    #expect(await failure?.message.contains("slow") == true)
    #expect(error.hasEnded.withLock { $0 })
    withExtendedLifetime(subscription) {}
  }

  @Test func `names have the addresses that the configuration's resolver gives, or else the system's`() async throws {
    let names = Monitor<[String]>([])
    var configuration = SocketTransport.Configuration()
    configuration.proxy = .none
    configuration.resolver = { host in
      names.update { $0.append(host) }
      switch host {
      case "several.test": return ["127.0.0.1"]
      case "localhost": return nil
      case "wrong.test": return ["127.0.0.1", "other.test"]
      case "none.test": return []
      default: throw CocoaError(.fileNoSuchFile)
      }
    }
    let transport = SocketTransport(configuration: configuration)
    for host in ["Several.test", "several.test", "localhost"] {
      let request = try HTTPRequest(method: .get, url: url("http://\(host):\(server.port)/"))
      #expect(try await transport.response(to: request).head.isSuccess)
    }
    #expect(names.value == ["several.test", "localhost"])
    #expect(server.requests.first?["Host"]?.lowercased() == "several.test:\(server.port)")
    for (host, message) in [
      ("wrong.test", "'other.test', which is no numeric address"), ("none.test", "it has no addresses"),
      ("unknown.test", "The host 'unknown.test' was not found"),
    ] {
      let request = try HTTPRequest(method: .get, url: url("http://\(host)/"))
      let error = await #expect(throws: RequestError.self) { try await transport.response(to: request) }
      #expect(error?.kind == .cannotConnect, "\(String(describing: error))")
      #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      #expect(error?.cause is CocoaError == (host == "unknown.test"))
    }
  }

  @Test func `addresses that refuse are passed over at once`() async throws {
    let nowhere = try RefusingPort()
    // Waiting for each of them would take five seconds.
    let refusing = Array(repeating: try Self.address(nowhere.port), count: 20)
    let addresses = try refusing + [Self.address(server.port)]
    try await expectDelay(of: .zero, leeway: .seconds(1)) {
      let transport = transport { addresses }
      let start = ContinuousClock.now
      let response = try await transport.response(to: request)
      #expect(response.head.isSuccess)
      return .now - start
    }
  }

  @Test func `an address that a server does not listen at leads to the other family's`() async throws {
    let nowhere = try RefusingPort()
    let addresses = try [Self.address(nowhere.port, on: "::1"), Self.address(server.port)]
    let transport = transport { addresses }
    #expect(try await transport.response(to: request).head.isSuccess)
  }

  @Test func `the error names each address where all refuse`() async throws {
    let nowhere = try RefusingPort()
    let addresses = try [Self.address(nowhere.port), Self.address(nowhere.port, on: "127.0.0.2")]
    let transport = transport { addresses }
    let error = await #expect(throws: RequestError.self) { try await transport.response(to: request) }
    #expect(error?.kind == .cannotConnect)
    #expect(error?.message.contains("127.0.0.1: Connection refused; 127.0.0.2: Connection refused") == true)
  }

  @Test func `T6: a look-up that hangs ends at the deadline for connecting`() async throws {
    let address = try Self.address(server.port)
    var request = request
    request.timeouts = HTTPTimeouts(connect: .milliseconds(300), idle: nil, total: nil)
    try await expectDelay(of: .milliseconds(300)) {
      let lookUp = DispatchSemaphore(value: 0)
      let transport = transport {
        lookUp.wait()
        return [address]
      }
      let start = ContinuousClock.now
      let error = await #expect(throws: RequestError.self) { try await transport.response(to: request) }
      let time = ContinuousClock.now - start
      #expect(error?.kind == .timedOut)
      #expect(error?.reached == .never)
      try await expectNothingLeft(of: transport, until: lookUp)
      return time
    }
  }

  @Test func `T7: disposing while a look-up hangs leaves no exchange behind`() async throws {
    let (lookUp, hasBegun, isOver) = (DispatchSemaphore(value: 0), Latch(), Latch())
    let address = try Self.address(server.port)
    let transport = transport {
      hasBegun.open()
      lookUp.wait()
      return [address]
    }
    let subscription = transport.send(request).subscribe(
      onError: { Issue.record($0) }, onDisposed: { isOver.open() })
    try await hasBegun.wait()
    subscription.dispose()
    try await isOver.wait()
    try await expectNothingLeft(of: transport, until: lookUp)
  }

  /// Nothing of an exchange is left for a shutdown to wait for, before the look-up comes back.
  private func expectNothingLeft(of transport: SocketTransport, until lookUp: DispatchSemaphore) async throws {
    defer { lookUp.signal() }
    let isShutDown = Latch()
    Task {
      await transport.shutdown()
      isShutDown.open()
    }
    try await isShutDown.wait(for: "the shutdown", within: .seconds(5))
  }
}
