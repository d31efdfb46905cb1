import SystemBase

/// A header field: a name and a value that are valid by RFC 9110, section 5.
public struct HTTPField: Hashable, Sendable {
  /// The name as it was given; names are compared without regard to case.
  public let name: String

  /// The value, without leading and trailing white space.
  public let value: String

  /// Takes a name and a value.
  ///
  /// Throws `invalidRequest` if the name is not a token, or if the value contains a control character (including a
  /// tab): such a value could begin another header, or another request. The error message shows neither the value nor
  /// the part of the name that is not valid.
  public init(name: String, value: String) throws(RequestError) {
    guard name.isToken else {
      let start = name.prefix { String($0).isToken }
      throw RequestError(
        .invalidRequest, "A header name that begins with '\(start)' is not valid: use only letters, digits and '-'.")
    }
    guard !value.holdsControl else {
      throw RequestError(
        .invalidRequest, "The value of the header '\(name)' holds a control character, such as a line break.")
    }
    self.init(received: name, value: value)
  }

  /// Takes a field as a peer sent it, unchecked; white space around the value is removed.
  package init(received name: String, value: String) {
    self.name = name
    self.value = value.hasBlankAround ? String(value.trimmed) : value
  }

  /// Takes a field that has been checked, and whose value has no white space around it.
  package init(trimmedName name: String, value: String) {
    self.name = name
    self.value = value
  }

  /// Whether logs may show the value: true for a fixed list of names that carry no secrets.
  public var isPublic: Bool { Self.publicNames.contains(name.lowercased()) }

  private static let publicNames: Set<String> = [
    "accept", "accept-encoding", "accept-language", "age", "allow", "cache-control", "connection", "content-encoding",
    "content-language", "content-length", "content-type", "date", "etag", "expires", "host", "keep-alive",
    "last-modified", "retry-after", "server", "traceparent", "transfer-encoding", "user-agent", "vary", "via",
    "x-app-platform", "x-app-version", "x-os-version",
  ]

  /// Names are compared without regard to case, values byte by byte.
  public static func == (left: HTTPField, right: HTTPField) -> Bool {
    left.hasName(right.name) && left.value.hasBytes(of: right.value)
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name.lowercased())
    value.hashBytes(into: &hasher)
  }

  /// Whether the field controls where the message ends or what happens to the connection, or is for a proxy, which the
  /// request does not know.
  var isFraming: Bool {
    // This runs for every field of every request; the length alone rules out most names.
    switch name.utf8.count {
    // That trailers are taken says nothing about framing.
    case 2: hasName("TE") && value.lowercased() != "trailers"
    case 6: hasName("Expect")
    case 7: hasName("Upgrade") || hasName("Trailer")
    case 10: hasName("Connection") || hasName("Keep-Alive")
    case 14: hasName("Content-Length")
    case 16: hasName("Proxy-Connection")
    case 17: hasName("Transfer-Encoding")
    case 19: hasName("Proxy-Authorization")
    default: false
    }
  }

  @inline(__always)
  package func hasName(_ other: String) -> Bool {
    name.utf8.count == other.utf8.count && hasNameOfItsLength(other)
  }

  func hasName(prefix: String) -> Bool {
    guard let own = name.utf8.first, let other = prefix.utf8.first else { return prefix.isEmpty }
    // Of most fields, the first letter is another one.
    return own.isSameLetter(as: other) && name.utf8.starts(with: prefix.utf8) { $0.isSameLetter(as: $1) }
  }

  private func hasNameOfItsLength(_ other: String) -> Bool {
    if name == other { return true }
    let isSame = name.utf8.withContiguousStorageIfAvailable { name in
      other.utf8.withContiguousStorageIfAvailable { other in
        name.indices.allSatisfy { name[$0].isSameLetter(as: other[$0]) }
      }
    }
    return (isSame ?? nil) ?? (name.lowercased() == other.lowercased())
  }
}

extension UInt8 {
  /// Whether the bytes are equal, or the same ASCII letter in different case.
  fileprivate func isSameLetter(as other: UInt8) -> Bool {
    self == other || self ^ other == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
  }
}

extension String {
  fileprivate var hasBlankAround: Bool { utf8.first?.isSpaceOrTab ?? false || utf8.last?.isSpaceOrTab ?? false }
}

extension HTTPField: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The field as a line, with the value redacted if it may be secret.
  public var description: String { "\(name): \(isPublic ? value : Redactor.placeholder)" }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: [(label: "field", value: description)]) }
}
