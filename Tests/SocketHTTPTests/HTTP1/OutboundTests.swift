import Foundation
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct OutboundTests {
  /// What is lent in order, where each time so many bytes are taken.
  private func taken(_ outbound: Outbound, _ count: Int) -> [UInt8] {
    var (outbound, taken) = (outbound, [UInt8]())
    while !outbound.isEmpty {
      var part: [UInt8] = []
      _ = outbound.withNext { first, second in
        part = Array((Array(first) + Array(second)).prefix(count))
        return .taken(part.count)
      }
      guard !part.isEmpty else { break }
      taken += part
      outbound.advance(by: part.count)
    }
    return taken
  }

  @Test(arguments: 1...12)
  func `head and body come one behind the other, however much is taken at a time`(count: Int) {
    // A slice, whose places do not begin at 0.
    let body = Data("--body".utf8).dropFirst(2)
    #expect(taken(Outbound(Array("head".utf8), body), count) == Array("headbody".utf8))
    #expect(taken(Outbound(Array("head".utf8)), count) == Array("head".utf8))
    #expect(taken(Outbound([], body), count) == Array("body".utf8))
  }

  @Test(arguments: 1...12)
  func `an upload comes behind the head, a piece at a time`(count: Int) {
    var upload = HTTPUpload()
    for text in ["one", "", "two"] { upload.append(Data(text.utf8).dropFirst(0)) }
    #expect(
      taken(Outbound(Array("head".utf8), Data(), HTTPUploadReader(upload, .onWorkers) {}), count)
        == Array("headonetwo".utf8))
  }

  @Test func `an empty body lends no bytes`() {
    let outbound = Outbound()
    #expect(outbound.isEmpty)
    var count = 1
    _ = outbound.withNext { first, second in
      count = first.count + second.count
      return .blocked
    }
    #expect(count == 0)
  }

  @Test func `a large body lends a part at a time`() {
    let outbound = Outbound([1], Data(count: 3 << 20))
    var counts: [Int] = []
    _ = outbound.withNext { first, second in
      counts = [first.count, second.count]
      return .blocked
    }
    #expect(counts == [1, 64 << 10])
    #expect(taken(outbound, .max).count == 1 + (3 << 20))
  }
}
