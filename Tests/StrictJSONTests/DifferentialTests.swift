import Foundation
import StrictJSON
import TestSupport
import Testing

/// Damaged texts, of which Foundation's decoder and both ways of this module must say the same, but for differences
/// that are explained.
@Suite struct DifferentialTests {
  private static let timeline = """
    {"data":{"getMomentsDetailsByUserID":{"userDetails":{"id":"0","name":"林薇","avatar":"https:\\/\\/a.example\\/0.png",\
    "backgroundImage":""},"moments":[{"id":"m0-0","userDetails":{"name":"Zoë","avatar":"a"},"type":"PHOTOS",\
    "title":"早安 \\ud83d\\ude00 \\"x\\"\\n","url":null,"photos":["1","2"],"createdDate":"1605521360","isLiked":true,\
    "likes":[{"id":7,"avatar":"b"}],"score":-12.5e-3,"views":12000000000}]}},"errors":[],"extensions":{"t":[1,2.0,1e2]}}
    """

  @Test func `thousands of damaged texts are read as Foundation reads them, or a known difference explains it`() {
    let seed =
      ProcessInfo.processInfo.environment["MOMENTS_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 1 ... .max)
    print("MOMENTS_TEST_SEED=\(seed)")
    var random = RandomJSON(seed: seed)
    var (accepted, explained) = (0, [Comparison.Explanation: Int]())
    let count = TestScale.count(6_000, long: 20_000)
    for round in 0..<count {
      let whole =
        switch round % 4 {
        case 0: Array(Self.timeline.utf8)
        case 1: JSONCases.suiteAccepted[random.int(0...(JSONCases.suiteAccepted.count - 1))].bytes
        default: (try? random.value().json()).map { Array($0) } ?? []
        }
      let bytes = random.damaged(whole)
      let comparison = Comparison(bytes)
      if comparison.ours != nil { accepted += 1 }
      if let explanation = comparison.explanation { explained[explanation, default: 0] += 1 }
      if let problem = comparison.problem {
        Issue.record("seed \(seed), round \(round): \(problem)\n\(String(decoding: bytes, as: UTF8.self)) \(bytes)")
      }
    }
    // Neither all is broken nor all is whole.
    #expect((count / 20...count / 20 * 19).contains(accepted))
    print("\(accepted) were read; explained: \(explained)")
  }

  @Test(
    arguments: [
      ("[1,]", .trailingComma), ("[1.234567890123456789012345678901234567890123]", .digits),
      ("[1e-300, 1e999]", .digits), (#"{"a":[1 , ] , }"#, .trailingComma),
      (#"{"a":1,"\u0061":2}"#, .equalKeys), (#"{"\#(String(repeating: "\u{301}", count: 31))":1}"#, .names),
      (String(repeating: "[", count: 200) + String(repeating: "]", count: 200), .depth),
    ] as [(String, Comparison.Explanation)])
  func `each difference is what its name says`(text: String, explanation: Comparison.Explanation) {
    #expect(Comparison(Array(text.utf8)).explanation == explanation)
  }

  @Test func `Foundation does not check what it does not read`() {
    for text in [[0xFF], [0x01], Array(#"\x"#.utf8), Array(#"\ud800"#.utf8), [0xE1]] as [[UInt8]] {
      let bytes = Array(#"{"a":1,"a":""#.utf8) + text + Array(#""}"#.utf8)
      let comparison = Comparison(bytes)
      #expect(comparison.problem == nil)
      #expect([nil, .unread].contains(comparison.explanation))
    }
    for text in [#"{"a":1,"a":"\#u{1}"}"#, #"{"a":1,"a":000}"#, #"{"a":1,"a":1.e5,"b":[2]}"#] {
      #expect(Comparison(Array(text.utf8)).explanation == .unread)
    }
  }

  @Test func `Foundation reads other encodings`() throws {
    let bytes = try #require("[1]".data(using: .utf16LittleEndian))
    #expect(Comparison(Array(bytes)).explanation == .otherEncoding)
  }
}
