import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct FieldParserTests {
  private func line(_ text: [UInt8]) throws(RequestError) -> Int {
    try (text + [0x0D, 0x0A]).withBytes { bytes throws(RequestError) in
      var parser = FieldParser(bytes)
      return try parser.nextLine().count
    }
  }

  @Test func `a control character is found wherever it stands in a line, and nothing else is taken for one`() {
    for length in 1...19 {
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max where byte != 0x0A {
          var text = [UInt8](repeating: 0x61, count: length)
          text[place] = byte
          // The CR of the line's end is none of the line; one more before it is.
          let isAllowed = byte >= 0x20 && byte != 0x7F || byte == 0x09
          #expect(((try? line(text)) == length) == isAllowed, "byte \(byte) at \(place) of \(length)")
        }
      }
    }
  }

  @Test(arguments: ["", "\r\n "])
  func `T6: a value that takes long to compare is replaced by one that does not`(fold: String) throws {
    let marks = String(repeating: "\u{301}\u{323}", count: 10_000)
    let fields = try Array("a: x\(fold)\(marks) y\r\n\r\n".utf8).withBytes { bytes throws(RequestError) in
      var parser = FieldParser(bytes)
      return try parser.fields(upTo: 10)
    }
    let value = try #require(fields.first?.value)
    #expect(value.isName)
    #expect(value.hasPrefix("x"))
    #expect(value.hasSuffix(" y"))
  }

  @Test func `neighbours of a control character do not hide it`() {
    for other in [0x09, 0x20, 0x7E, 0x80, 0xFF] as [UInt8] {
      for byte in [0x00, 0x1F, 0x7F] as [UInt8] {
        for place in 0..<16 {
          var text = [UInt8](repeating: other, count: 16)
          text[place] = byte
          #expect((try? line(text)) == nil, "byte \(byte) at \(place) among \(other)")
        }
      }
    }
  }
}
