import Streams
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct NameRecordTests {
  private let start = Instant.now

  @Test func `a name is judged by its last look-up, and one that hung is given another chance after a while`() {
    var record = NameRecord()
    #expect(record.kind(of: "a", at: start) == .unknown)
    record.record("a", took: .seconds(1), at: start)
    #expect(record.kind(of: "a", at: start + .seconds(9999)) == .answered)
    record.record("a", took: .seconds(5), at: start)
    #expect(record.kind(of: "a", at: start + .seconds(29)) == .hanging)
    #expect(record.kind(of: "a", at: start + .seconds(30)) == .unknown)
    record.record("a", took: .zero, at: start)
    #expect(record.kind(of: "a", at: start) == .answered)
  }

  @Test func `the latest of many names are remembered`() {
    var record = NameRecord()
    for number in 0..<10_000 { record.record("\(number)", took: .zero, at: start) }
    let known = (0..<10_000).filter { record.kind(of: "\($0)", at: start) == .answered }
    #expect(known.count <= 4096)
    #expect(known == Array((10_000 - known.count)..<10_000))
    #expect(known.count >= 2048)
  }
}
