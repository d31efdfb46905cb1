import JSON
import Testing

/// A text, with the value it stands for where that matters.
struct JSONCase: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let value: JSONValue?

  init(_ name: String, _ text: String, _ value: JSONValue? = nil) {
    self.init(name, Array(text.utf8), value)
  }

  init(_ name: String, _ bytes: [UInt8], _ value: JSONValue? = nil) {
    self.name = name
    self.bytes = bytes
    self.value = value
  }

  /// A text in quotes with these bytes inside.
  static func text(_ name: String, _ bytes: [UInt8]) -> JSONCase {
    JSONCase(name, [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])
  }

  var testDescription: String { name }
}
