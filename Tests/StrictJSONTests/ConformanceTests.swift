import Foundation
import StrictJSON
import Testing

/// The texts that RFC 8259 allows, forbids, or leaves to the reader, each read and skipped, and right before memory
/// that cannot be read.
@Suite struct ConformanceTests {
  private let memory: GuardedBytes

  init() throws {
    memory = try GuardedBytes(capacity: 1 << 20)
  }

  private func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
    try memory.with(bytes) { (bytes: UnsafeRawBufferPointer) throws(JSONError) in try JSONValue(json: bytes.bytes) }
  }

  private func skip(_ bytes: [UInt8]) throws(JSONError) {
    try memory.with(bytes) { (bytes: UnsafeRawBufferPointer) throws(JSONError) in
      try JSONReader.reading(bytes.bytes) { (json: inout JSONReader) throws(JSONError) in try json.skipValue() }
    }
  }

  @Test(arguments: JSONCases.accepted + JSONCases.suiteAccepted)
  func `a text that RFC 8259 allows is read`(text: JSONCase) throws {
    let value = try read(text.bytes)
    if let expected = text.value { #expect(value == expected) }
    try skip(text.bytes)
  }

  @Test func `the suite's cases are all here`() {
    #expect(JSONCases.suiteAccepted.count == 95)
    #expect(JSONCases.suiteRejected.count == 193)
    #expect(JSONCases.suiteOpenAccepted.count + JSONCases.suiteOpenRejected.count == 35)
    let names =
      JSONCases.suiteAccepted + JSONCases.suiteRejected + JSONCases.suiteOpenAccepted + JSONCases.suiteOpenRejected
    #expect(Set(names.map(\.name)).count == names.count)
  }

  @Test(arguments: JSONCases.rejected + JSONCases.suiteRejected)
  func `a text that RFC 8259 forbids is an error, also in values that are skipped`(text: JSONCase) {
    #expect(throws: JSONError.self) { try read(text.bytes) }
    #expect(throws: JSONError.self) { try skip(text.bytes) }
    let inArray = Array("[0,".utf8) + text.bytes + Array("]".utf8)
    #expect(throws: JSONError.self) { try read(inArray) }
    #expect(throws: JSONError.self) { try skip(inArray) }
    #expect(throws: DecodingError.self) { try JSONCoder().decode(Tree.self, from: Data(text.bytes)) }
  }

  @Test(arguments: JSONCases.acceptedByUs + JSONCases.suiteOpenAccepted)
  func `a text that RFC 8259 leaves open is read as documented`(text: JSONCase) throws {
    let value = try read(text.bytes)
    if let expected = text.value { #expect(value == expected) }
    try skip(text.bytes)
  }

  @Test(arguments: JSONCases.rejectedByUs + JSONCases.suiteOpenRejected)
  func `a text that RFC 8259 leaves open is refused as documented`(text: JSONCase) {
    #expect(throws: JSONError.self) { try read(text.bytes) }
  }

  @Test func `each start of a text is an error, and no byte behind it is read`() throws {
    let text = #"{"a":[1,-2.5e+3,true,false,null,"é中😀\ud83d\ude00\n\\","plain text that is longer"],"b\u0041":{}}"#
    let bytes = Array(text.utf8)
    for count in 0..<bytes.count {
      #expect(throws: JSONError.self) { try read(Array(bytes.prefix(count))) }
      #expect(throws: JSONError.self) { try skip(Array(bytes.prefix(count))) }
    }
    _ = try read(bytes)
  }

  @Test func `every sequence of bytes is text if and only if the standard library takes it for UTF-8`() throws {
    // All leading bytes, and the continuations at each boundary.
    let edges: [UInt8] = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
    for first in UInt8(0x80)...0xFF {
      for second in edges {
        for third in edges {
          for sequence in [[first], [first, second], [first, second, third], [first, second, third, 0x80]] {
            guard !sequence.contains(where: { $0 < 0x20 }) else { continue }
            let expected = String(validating: sequence, as: UTF8.self)
            let text = [UInt8(ascii: "\"")] + sequence + [UInt8(ascii: "\"")]
            #expect((try? read(text)) == expected.map { .string($0) }, "\(sequence)")
          }
        }
      }
    }
  }
}
