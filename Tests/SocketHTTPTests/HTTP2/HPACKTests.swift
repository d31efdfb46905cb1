import Foundation
import HTTPClientCore
import SystemBase
import TestSupport
import Testing

@testable import SocketHTTP

/// RFC 7541.
@Suite struct HPACKTests {
  typealias Fields = [[String]]

  // MARK: - The examples of appendix C

  /// Sections C.2.1 to C.2.4.
  @Test(
    arguments: [
      ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", ["custom-key", "custom-header"]),
      ("040c2f73616d706c652f70617468", [":path", "/sample/path"]),
      ("100870617373776f726406736563726574", ["password", "secret"]),
      ("82", [":method", "GET"]),
    ])
  func `each form of a field is decoded`(block: String, field: [String]) throws {
    var decoder = HPACKDecoder()
    #expect(try decoder.texts(block) == [field])
  }

  /// Sections C.3 and C.4.
  private static let requests: [Fields] = [
    [[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "www.example.com"]],
    [
      [":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", "www.example.com"],
      ["cache-control", "no-cache"],
    ],
    [
      [":method", "GET"], [":scheme", "https"], [":path", "/index.html"], [":authority", "www.example.com"],
      ["custom-key", "custom-value"],
    ],
  ]

  /// Sections C.5 and C.6.
  private static let responses: [Fields] = [
    [
      [":status", "302"], ["cache-control", "private"], ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ],
    [
      [":status", "307"], ["cache-control", "private"], ["date", "Mon, 21 Oct 2013 20:13:21 GMT"],
      ["location", "https://www.example.com"],
    ],
    [
      [":status", "200"], ["cache-control", "private"], ["date", "Mon, 21 Oct 2013 20:13:22 GMT"],
      ["location", "https://www.example.com"], ["content-encoding", "gzip"],
      ["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"],
    ],
  ]

  private static let plainRequests = [
    "828684410f7777772e6578616d706c652e636f6d", "828684be58086e6f2d6361636865",
    "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
  ]
  private static let encodedRequests = [
    "828684418cf1e3c2e5f23a6ba0ab90f4ff", "828684be5886a8eb10649cbf",
    "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
  ]
  private static let plainResponses = [
    """
    4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e\
    6578616d706c652e636f6d
    """, "4803333037c1c0bf",
    """
    88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f51\
    57454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31
    """,
  ]
  private static let encodedResponses = [
    """
    488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3
    """, "4883640effc1c0bf",
    """
    88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab\
    270fb5291f9587316065c003ed4ee5b1063d5007
    """,
  ]

  @Test func `the requests of the RFC's examples are decoded, with and without the Huffman code`() throws {
    var (plain, encoded) = (HPACKDecoder(), HPACKDecoder())
    for (index, fields) in Self.requests.enumerated() {
      #expect(try plain.texts(Self.plainRequests[index]) == fields)
      #expect(try encoded.texts(Self.encodedRequests[index]) == fields)
    }
  }

  @Test func `the responses of the RFC's examples are decoded, with a table from which entries are evicted`() throws {
    var (plain, encoded) = (HPACKDecoder(tableLimit: 256), HPACKDecoder(tableLimit: 256))
    for (index, fields) in Self.responses.enumerated() {
      #expect(try plain.texts(Self.plainResponses[index]) == fields)
      #expect(try encoded.texts(Self.encodedResponses[index]) == fields)
    }
  }

  @Test func `requests are encoded as in the RFC's examples`() {
    var encoder = HPACKEncoder()
    for (index, fields) in Self.requests.enumerated() {
      #expect(encoder.block(fields).hex == Self.encodedRequests[index])
    }
  }

  // MARK: - Integers

  /// Section 5.1, and C.1.2.
  @Test func `an integer of several bytes is decoded`() throws {
    var decoder = HPACKDecoder(tableLimit: 1337)
    #expect(try decoder.texts("3f9a0a").isEmpty)
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("3f9b0a") }
  }

  @Test(arguments: ["ffffffffffff0f", "ff8080808080808080808001", "ffffffffffffffffffff7f", "7fffffffffff"])
  func `an integer that is too large is an error`(block: String) {
    var decoder = HPACKDecoder()
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts(block) }
  }

  // MARK: - Indexes

  /// Section 2.3.3, and 6.1.
  @Test(arguments: ["80", "be", "ff00", "7f00", "0f2f01"])
  func `an index that is 0 or beyond the table is an error`(block: String) throws {
    var decoder = HPACKDecoder()
    let error = #expect(throws: HTTP2ConnectionError.self) { try decoder.texts(block) }
    #expect(error?.code == .compressionError)
  }

  // MARK: - The size of the table

  /// Section 4.2.
  @Test func `a size of the table that is larger than allowed is an error`() {
    var decoder = HPACKDecoder()
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("3fe21f") }
  }

  @Test func `a size of the table after a field is an error`() {
    var decoder = HPACKDecoder()
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("8220") }
  }

  @Test func `a block must begin with the size of the table once that has been lowered`() throws {
    var decoder = HPACKDecoder()
    decoder.setTableLimit(100)
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("82") }
    #expect(try decoder.texts("3f4582") == [[":method", "GET"]])
    #expect(try decoder.texts("82") == [[":method", "GET"]])
  }

  @Test func `a table that is emptied forgets its entries`() throws {
    var decoder = HPACKDecoder()
    _ = try decoder.texts("400a637573746f6d2d6b65790d637573746f6d2d686561646572")
    #expect(try decoder.texts("be") == [["custom-key", "custom-header"]])
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("203fe11fbe") }
  }

  @Test func `the encoder begins a block with the least size since the last one, and the size that it has`() throws {
    var encoder = HPACKEncoder()
    _ = encoder.block([["a", "1"]])
    encoder.setTableLimit(10)
    encoder.setTableLimit(4096)
    #expect(encoder.block([["a", "1"]]).hex.hasPrefix("2a3fe11f40"))
    encoder.setTableLimit(0)
    #expect(encoder.block([[":method", "GET"]]).hex == "2082")
    encoder.setTableLimit(1 << 30)
    #expect(encoder.block([[":method", "GET"]]).hex == "3fe11f82")
    encoder.setTableLimit(1 << 20)
    #expect(encoder.block([[":method", "GET"]]).hex == "82")
  }

  /// Section 4.4.
  @Test func `an entry that is larger than the table empties it`() throws {
    var decoder = HPACKDecoder(tableLimit: 64)
    _ = try decoder.texts("4001610162")
    #expect(try decoder.texts("be") == [["a", "b"]])
    let large = [UInt8](repeating: 0x61, count: 40)
    _ = try decoder.texts("400163" + ([40] + large).hex)
    #expect(throws: HTTP2ConnectionError.self) { try decoder.texts("be") }
  }

  // MARK: - The Huffman code

  /// Section 5.2.
  @Test(
    arguments: [
      ("a padding of 11 bits", "000161821fff"), ("a padding of zeros", "0001618118"),
      ("nothing but padding, of 8 bits", "00016181ff"), ("EOS", "00016184ffffffff"),
      ("EOS behind a letter", "000161851fffffffff"),
    ]
  )
  func `a string that is not in the code is an error`(what: String, block: String) {
    var decoder = HPACKDecoder()
    #expect(throws: HTTP2ConnectionError.self, "\(what)") { try decoder.texts(block) }
  }

  @Test func `every byte comes back from the code`() {
    for first in UInt8.min ... .max {
      #expect(Huffman.roundTrip([first]) == [first])
      let pairs = stride(from: first % 5, to: 255, by: 5).allSatisfy { Huffman.roundTrip([first, $0]) == [first, $0] }
      #expect(pairs)
    }
  }

  @Test func `random bytes are decoded without a trap, and only what is in the code is`() {
    var random = RandomNumbers(seed: 1)
    var accepted = 0
    for _ in 0..<20_000 {
      let bytes = random.bytes(upTo: 40)
      guard let decoded = Huffman.decoded(bytes) else { continue }
      accepted += 1
      #expect(Huffman.decoded(Huffman.encoded(decoded))?.starts(with: decoded) == true)
      #expect(bytes.isEmpty || Huffman.encoded(decoded).starts(with: bytes.dropLast()))
    }
    #expect(accepted > 0)
  }

  // MARK: - Secrets, and what repeats

  /// Section 7.1.3.
  @Test func `what is secret is marked as never to be indexed, and put in no table`() throws {
    var encoder = HPACKEncoder()
    let block = encoder.block([["authorization", "Bearer 1"], ["cookie", "a=b"]], indexing: .never)
    #expect(block.starts(with: [0x1F, 0x08]))
    #expect(encoder.tableCount == 0)
    #expect(encoder.block([["authorization", "Bearer 1"], ["cookie", "a=b"]], indexing: .never) == block)
    #expect(encoder.block([["x-token", "secret"]], indexing: .never)[0] == 0x10)
  }

  @Test func `what repeats takes a byte per field from the second block on`() {
    var encoder = HPACKEncoder()
    let fields = (0..<20).map { ["x-name-\($0)", "value \($0)"] }
    #expect(encoder.block(fields).count > 200)
    #expect(encoder.block(fields).count == 20)
  }

  @Test func `a value that would evict half of the table is not put into it`() {
    var encoder = HPACKEncoder()
    _ = encoder.block([["a", "1"]])
    _ = encoder.block([["b", String(repeating: "2", count: 3000)]])
    #expect(encoder.tableCount == 1)
  }

  // MARK: - Limits

  @Test func `a list that is too large is cut, and leaves the table as it must be`() throws {
    var decoder = HPACKDecoder(listLimit: 100)
    var encoder = HPACKEncoder()
    let fields = (0..<10).map { ["x-name-\($0)", "value \($0)"] }
    let first = try decoder.decode(encoder.block(fields))
    #expect(first.isTooLarge)
    #expect(first.fields.count == 2)
    let last = try decoder.decode(encoder.block([fields[9]]))
    #expect(!last.isTooLarge)
    #expect(last.fields.map(\.texts) == [fields[9]])
  }

  @Test func `a list of more fields than are allowed is cut`() throws {
    var decoder = HPACKDecoder(fieldLimit: 3)
    let list = try decoder.decode([UInt8](repeating: 0x82, count: 4))
    #expect(list.isTooLarge)
    #expect(list.fields.count == 3)
  }

  @Test func `a small block that refers to a large entry many times makes no large list`() throws {
    var decoder = HPACKDecoder()
    var block: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xE1, 0x1D] + [UInt8](repeating: 0x62, count: 3936)
    block += [UInt8](repeating: 0xBE, count: 16_000)
    let list = try decoder.decode(block)
    #expect(list.isTooLarge)
    #expect(list.fields.count <= 16)
  }

  // MARK: - Validity

  /// RFC 9113, section 8.2.1.
  @Test(arguments: ["Upper", "", ":", "a b", "a:b", "ä", "a\u{0}"])
  func `a name that is not valid is recognised, also where the table repeats it`(name: String) throws {
    var (encoder, decoder) = (HPACKEncoder(), HPACKDecoder())
    #expect(try decoder.decode(encoder.block([[name, "1"]])).fields.map(\.isNameValid) == [false])
    #expect(try decoder.decode(encoder.block([[name, "2"]])).fields.map(\.isNameValid) == [false])
    #expect(try decoder.decode(encoder.block([[name, "2"]])).fields.map(\.isNameValid) == [false])
  }

  @Test(arguments: ["a\r", "a\nb", "\u{0}", " a", "a ", "\ta", "\u{7F}"])
  func `a value that is not valid is recognised, also where the table repeats it`(value: String) throws {
    var (encoder, decoder) = (HPACKEncoder(), HPACKDecoder())
    #expect(try decoder.decode(encoder.block([["name", value]])).fields.map(\.isValueValid) == [false])
    #expect(try decoder.decode(encoder.block([["name", value]])).fields.map(\.isValueValid) == [false])
  }

  @Test func `the size of what is not UTF-8 is that of its bytes`() throws {
    var decoder = HPACKDecoder(tableLimit: 34)
    // A name and a value of one byte each: 34 bytes with the overhead, though the texts have three bytes each.
    let field = try decoder.decode([0x40, 1, 0xFF, 1, 0xFE]).fields
    #expect(field.map(\.size) == [34])
    #expect(try decoder.decode([0xBE]).fields.count == 1)
    #expect(try decoder.decode([0x7E, 0]).fields.map(\.size) == [33])
  }

  // MARK: - Anything

  @Test func `random lists come back, whatever the tables forget and however their sizes change`() throws {
    var random = RandomNumbers(seed: 2)
    for _ in 0..<TestScale.count(20, long: 100) {
      var (encoder, decoder) = (HPACKEncoder(), HPACKDecoder())
      for _ in 0..<40 {
        if random.next(below: 4) == 0 { encoder.setTableLimit(random.next(below: 5000)) }
        let fields = (0..<random.next(below: 20)).map { _ in
          let name = random.next(below: 3) == 0 ? HPACK.staticTable[random.next(below: 61)].name : random.text(upTo: 12)
          return [name, random.next(below: 2) == 0 ? "\(random.next(below: 4))" : random.text(upTo: 300)]
        }
        let indexing: [HPACKEncoder.Indexing] = [.incremental, .incremental, .without, .never]
        let block = encoder.block(fields, indexing: indexing[random.next(below: 4)])
        #expect(try decoder.texts(block.hex) == fields)
      }
    }
  }

  @Test func `T6: a value that takes long to compare is replaced by one that does not`() throws {
    var (encoder, decoder) = (HPACKEncoder(), HPACKDecoder())
    let value = "x" + String(repeating: "\u{301}\u{323}", count: 5_000) + " y"
    let fields = try decoder.texts(encoder.block([["x-name", value]]).hex)
    #expect(fields.first?.last?.isName == true)
    #expect(fields.first?.last?.hasSuffix(" y") == true)
  }

  @Test func `a block that is cut anywhere gives the first fields, or an error`() throws {
    let fields = (0..<5).map { ["x-name-\($0)", "value \($0) \(String(repeating: "…", count: $0))"] }
    var encoder = HPACKEncoder()
    let block = encoder.block(fields)
    var failures = 0
    for count in 0..<block.count {
      var decoder = HPACKDecoder()
      if let read = try? decoder.decode(Array(block[..<count])) {
        #expect(read.fields.map(\.texts) == Array(fields.prefix(read.fields.count)))
      } else {
        failures += 1
      }
    }
    #expect(failures == block.count - fields.count)
  }

  @Test func `random blocks are decoded without a trap`() {
    var random = RandomNumbers(seed: 3)
    for _ in 0..<2_000 {
      var decoder = HPACKDecoder(tableLimit: 300, listLimit: 2000)
      for _ in 0..<10 {
        guard let list = try? decoder.decode(random.bytes(upTo: 60)) else { break }
        #expect(list.fields.reduce(0) { $0 + $1.size } <= 2000)
      }
    }
  }
}

// MARK: - Means

extension HPACKDecoder {
  mutating func decode(_ block: [UInt8]) throws(HTTP2ConnectionError) -> ReceivedFields {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: block.count, alignment: 1)
    defer { bytes.deallocate() }
    bytes.copyBytes(from: block)
    return try decode(UnsafeRawBufferPointer(bytes))
  }

  fileprivate mutating func texts(_ hex: String) throws -> [[String]] {
    try decode([UInt8](hex: hex)).fields.map(\.texts)
  }
}

extension ReceivedField {
  var texts: [String] { [field.name, field.value] }
}

extension HPACKEncoder {
  mutating func block(_ fields: [[String]], indexing: Indexing = .incremental) -> [UInt8] {
    var block: [UInt8] = []
    begin(&block)
    for field in fields {
      Array(field[0].utf8).withUnsafeBytes { name in
        Array(field[1].utf8).withUnsafeBytes { value in encode(name, value, to: &block) { indexing } }
      }
    }
    return block
  }
}

extension Huffman {
  static func encoded(_ bytes: [UInt8]) -> [UInt8] {
    // Followed by bytes that become shorter, as what becomes longer is not encoded.
    let padded = bytes + [UInt8](repeating: 0x30, count: 8 * bytes.count + 8)
    var output = [UInt8](repeating: 0, count: padded.count)
    let count = padded.withUnsafeBytes { bytes in output.withUnsafeMutableBytes { encode(bytes, into: $0) } }
    return Array(output.prefix(count ?? 0))
  }

  static func decoded(_ bytes: [UInt8]) -> [UInt8]? {
    var output = [UInt8](repeating: 0, count: largestCount(of: bytes.count) + 1)
    let count = bytes.withUnsafeBytes { bytes in output.withUnsafeMutableBytes { decode(bytes, into: $0) } }
    return count.map { Array(output[..<$0]) }
  }

  fileprivate static func roundTrip(_ bytes: [UInt8]) -> [UInt8]? {
    decoded(encoded(bytes)).map { Array($0.prefix(bytes.count)) }
  }
}

extension [UInt8] {
  init(hex: String) {
    let digits = hex.utf8.compactMap(\.hexDigitValue)
    self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

/// Numbers that are the same in each run (SplitMix64).
struct RandomNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed &>> 31
  }

  mutating func next(below limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func bytes(upTo limit: Int) -> [UInt8] { (0..<next(below: limit + 1)).map { _ in UInt8(next() & 0xFF) } }

  mutating func text(upTo limit: Int) -> String {
    String(decoding: (0..<next(below: limit + 1)).map { _ in UInt8(0x20 + next(below: 0x5F)) }, as: UTF8.self)
  }
}
