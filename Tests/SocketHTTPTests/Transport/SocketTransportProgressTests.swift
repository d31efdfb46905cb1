import Foundation
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct SocketTransportProgressTests {
  @Test func `progress that is handled slowly keeps no body, and comes to its end`() async throws {
    let (gate, freed, received) = (DispatchSemaphore(value: 0), Monitor(0), Monitor(0))
    let report = ProgressReport(
      { progress in
        gate.wait()
        received.update { $0 = progress.received }
      }, totalToSend: 0)
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

  @Test func `progress rises to the sizes of both bodies, in order`() async throws {
    let (size, gate) = (32 << 20, Latch())
    let server = try ScriptedServer([
      .wait(for: gate), .readRequest, .send(RawResponse(body: [UInt8](repeating: 0x20, count: size))),
    ])
    let reports = Monitor<[HTTPProgress]>([])
    var request = try HTTPRequest(method: .post, url: server.url, body: Data(count: size))
    request.onProgress = { progress in reports.update { $0.append(progress) } }
    async let response = SocketTransport().response(to: request, upTo: size)
    // More than the sockets take.
    try await reports.wait { $0.contains { 0 < $0.sent && $0.sent < $0.totalToSend ?? 0 } }
    gate.open()
    _ = try await response
    try await reports.wait { $0.last?.received == size }
    let all = reports.value
    #expect(all.last == HTTPProgress(sent: size, totalToSend: size, received: size, totalToReceive: size))
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
  }
}

extension HTTPProgress {
  fileprivate init(sent: Int, totalToSend: Int, received: Int, totalToReceive: Int?) {
    self.init(totalToSend: totalToSend)
    self.sent = sent
    self.received = received
    self.totalToReceive = totalToReceive
  }
}
