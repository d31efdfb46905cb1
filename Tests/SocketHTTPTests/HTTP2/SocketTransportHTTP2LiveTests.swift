import Foundation
import Streams
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

/// Responses that are read for long, and requests beside them, on few connections in HTTP/2.
@Suite(.timeLimit(.minutes(2))) struct SocketTransportHTTP2LiveTests {
  @Test(arguments: [false, true])
  func `event streams and multipart responses share one connection with requests`(isSecure: Bool) async throws {
    let server = try await PythonHTTP2Server(isSecure: isSecure)
    let transport = server.transport()
    let count = 60
    let counts = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 {
        group.addTask {
          let events = transport.send(try server.request("/events?count=\(count)")).events()
          var numbers: [String?] = []
          for try await event in events.values(bufferingPolicy: .unbounded) { numbers.append(event.data) }
          #expect(numbers == (0..<count).map { "\($0)" })
          return numbers.count
        }
        group.addTask {
          let parts = transport.send(try server.request("/multipart?count=\(count)")).multipart()
          var bodies: [Data] = []
          for try await part in parts.values(bufferingPolicy: .unbounded) { bodies.append(part.body) }
          #expect(bodies == (0..<count).map { Data("{\"number\":\($0)}".utf8) })
          return bodies.count
        }
        group.addTask {
          for number in 0..<10 {
            let body = Data(repeating: UInt8(number), count: number * 3000)
            let response = try await transport.response(to: server.request("/echo", method: .post, body: body))
            #expect(response.body == body)
          }
          return 10
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(counts.reduce(0, +) == 20 * (2 * count + 10))
    let statistics = try await server.counts(by: transport)
    #expect(statistics.connections == 1)
    #expect(statistics.errors == nil)
  }

  @Test func `requests go to another connection while event streams take all of one, and then there is room`()
    async throws
  {
    let server = try await PythonHTTP2Server(isSecure: false, "--streams", "8")
    let transport = server.transport { $0.maximumConnectionsPerOrigin = 1 }
    _ = try await transport.response(to: server.request("/size?count=1"))
    let streams = try (0..<8).map { _ in ExchangeLog(transport.send(try server.request("/events?count=100000"))) }
    for stream in streams { try await stream.entries.wait(for: "an event") { $0.count > 1 } }
    for _ in 0..<20 {
      #expect(try await transport.response(to: server.request("/size?count=1000")).body.count == 1000)
    }
    #expect(try await server.counts(by: transport).connections == 2)
    let before = streams[1].entries.value.count
    streams[0].subscription.dispose()
    try await streams[1].entries.wait(for: "another event") { $0.count > before }
    let next = ExchangeLog(transport.send(try server.request("/events?count=3")))
    #expect(try await next.ended().last == .completed)
    #expect(try await server.counts(by: transport).connections == 2)
    for stream in streams { stream.subscription.dispose() }
  }
}
