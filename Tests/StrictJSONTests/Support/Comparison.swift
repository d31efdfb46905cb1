import Foundation

#if canImport(StrictJSON)
  import StrictJSON
#endif

/// What Foundation's decoder and this module's readers make of the same bytes.
struct Comparison {
  /// Why the two may differ; the table in the module's documentation says more.
  enum Explanation: String, CaseIterable {
    case otherEncoding = "Foundation reads UTF-16 and UTF-32 too"
    case depth = "Foundation reads 512 levels"
    case names = "Foundation reads keys with any number of combining characters in a row"
    case trailingComma = "Foundation reads a comma before a closing bracket"
    case equalKeys = "Foundation keeps the first of equal keys"
    case digits = "Foundation has at most the digits and the range of a Decimal"
    case unread = "Foundation does not check the strings and numbers that it does not read"
  }

  let ours: JSONValue?
  let theirs: JSONValue?

  /// What the two ways of this module disagree about, or what cannot be explained; `nil` where all is well.
  private(set) var problem: String?
  private(set) var explanation: Explanation?

  init(_ bytes: [UInt8]) {
    let data = Data(bytes)
    let ours = try? JSONValue(json: data.bytes)
    let theirs = try? JSONDecoder().decode(JSONValue.self, from: data)
    self.ours = ours
    self.theirs = theirs
    if (try? JSONCoder().decode(Tree.self, from: data)) != ours.flatMap({ Tree($0) }) {
      problem = "The generic way differs from the direct one."
    } else if let ours, (try? JSONValue(json: ours.json().bytes)) != ours {
      problem = "What was read is not read again once it is written."
    } else if ours != theirs {
      explanation = Self.explain(bytes, ours, theirs)
      if explanation == nil { problem = "Ours: \(ours as JSONValue?), theirs: \(theirs as JSONValue?)" }
    }
  }

  private static func explain(_ bytes: [UInt8], _ ours: JSONValue?, _ theirs: JSONValue?) -> Explanation? {
    guard let theirs else { return ours?.holdsLiteral == true ? .digits : nil }
    guard let ours else {
      if bytes.contains(0) { return .otherEncoding }
      guard let failure = failure(bytes) else { return nil }
      if case .tooDeep = failure.kind { return .depth }
      if case .invalid = failure.kind { return .names }
      let mended = withoutTrailingCommas(bytes)
      if mended != bytes { return readsAs(theirs, mended) ? .trailingComma : nil }
      // With something else in the place of what is wrong it is the same value: nobody has read that.
      guard failure.offset < bytes.count else { return nil }
      var letter = bytes
      letter[failure.offset] = UInt8(ascii: "x")
      if letter != bytes, readsAs(theirs, letter) { return .unread }
      let number = withAnotherNumber(bytes, at: failure.offset)
      return number.count < bytes.count && readsAs(theirs, number) ? .unread : nil
    }
    if ours.isClose(to: theirs) { return .digits }
    let first = try? FirstKeys(json: bytes.span.bytes).value
    return first?.isClose(to: theirs) ?? false ? .equalKeys : nil
  }

  private static func readsAs(_ theirs: JSONValue, _ bytes: [UInt8]) -> Bool {
    let ours = try? JSONValue(json: bytes.span.bytes)
    return ours == theirs || explain(bytes, ours, theirs) != nil
  }

  private static func failure(_ bytes: [UInt8]) -> JSONError? {
    do throws(JSONError) {
      _ = try JSONValue(json: bytes.span.bytes)
      return nil
    } catch {
      return error
    }
  }

  /// The bytes with a digit in the place of the number that is there or ends there.
  private static func withAnotherNumber(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
    let signs = Set("0123456789+-.eE".utf8)
    let first = bytes[..<offset].lastIndex { !signs.contains($0) }.map { $0 + 1 } ?? 0
    let end = bytes[offset...].firstIndex { !signs.contains($0) } ?? bytes.count
    return bytes[..<first] + [UInt8(ascii: "7")] + bytes[end...]
  }

  /// The bytes without the commas that stand before a closing bracket, outside of strings.
  private static func withoutTrailingCommas(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var comma: Int?
    var isInString = false
    var isEscaped = false
    for byte in bytes {
      if isInString {
        (isInString, isEscaped) = (isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\"))
      } else if byte == UInt8(ascii: ",") {
        comma = result.count
      } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") {
        if let comma { result.remove(at: comma) }
        comma = nil
      } else if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) {
        comma = nil
        isInString = byte == UInt8(ascii: "\"")
      }
      result.append(byte)
    }
    return result
  }
}

extension JSONValue {
  /// Whether there is a number in it that only its text has.
  fileprivate var holdsLiteral: Bool {
    switch self {
    case .literal: true
    case .array(let elements): elements.contains(where: \.holdsLiteral)
    case .object(let members): members.values.contains(where: \.holdsLiteral)
    default: false
    }
  }

  /// Whether two values are equal but for numbers of which one is kept as its text, and that are one step of `Double`
  /// from each other at most.
  fileprivate func isClose(to other: JSONValue) -> Bool {
    switch (self, other) {
    case (.array(let left), .array(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.isClose(to: $1) }
    case (.object(let left), .object(let right)):
      left.count == right.count && left.allSatisfy { key, value in right[key].map(value.isClose) ?? false }
    case (.literal(let left), _):
      other.numberValue.map { abs(left.doubleValue - $0) <= left.doubleValue.ulp } ?? false
    default: self == other
    }
  }
}

/// A value whose objects keep the first of equal keys, which their canonical equivalence decides, as in a dictionary.
private struct FirstKeys: JSONDecodable {
  let value: JSONValue

  init(from json: inout JSONReader) throws(JSONError) {
    switch try json.nextKind() {
    case .object:
      var members: [String: JSONValue] = [:]
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        let member = try json.read(FirstKeys.self).value
        if members[key] == nil { members[key] = member }
      }
      value = .object(members)
    case .array: value = .array(try json.read([FirstKeys].self).map(\.value))
    default: value = try json.read()
    }
  }
}
