import Foundation
import TestSupport
import Testing

@testable import HTTP

@Suite struct SocketTransportProgressTests {
  @Test func `progress that is told slowly keeps no body, and comes to its end`() async throws {
    let (gate, freed, received) = (DispatchSemaphore(value: 0), Monitor(0), Monitor(0))
    let report = ProgressReport(
      { progress in
        gate.wait()
        received.update { $0 = progress.received }
      }, toSend: 0)
    let size = 1 << 16
    for _ in 0..<100 {
      let bytes = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      let piece = Data(
        bytesNoCopy: bytes, count: size,
        deallocator: .custom { bytes, _ in
          bytes.deallocate()
          freed.update { $0 += 1 }
        })
      report.didReceive(.body(piece))
    }
    #expect(freed.value == 100)
    for _ in 0..<100 { gate.signal() }
    try await received.wait { $0 == 100 * size }
  }

  @Test func `progress goes up to the sizes of both bodies, in order`() async throws {
    let server = try ScriptedServer(.answering { RawResponse(body: $0.body) })
    let reports = Monitor<[HTTPProgress]>([])
    var request = try HTTPRequest(method: .post, url: server.url, body: Data(count: 8 << 20))
    request.onProgress = { progress in reports.update { $0.append(progress) } }
    _ = try await SocketTransport().response(to: request)
    try await reports.wait { $0.last?.received == 8 << 20 }
    let all = reports.value
    #expect(all.last == HTTPProgress(sent: 8 << 20, toSend: 8 << 20, received: 8 << 20, toReceive: 8 << 20))
    #expect(all.contains { 0 < $0.sent && $0.sent < $0.toSend })
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
  }
}

extension HTTPProgress {
  fileprivate init(sent: Int, toSend: Int, received: Int, toReceive: Int?) {
    self.init(toSend: toSend)
    self.sent = sent
    self.received = received
    self.toReceive = toReceive
  }
}
