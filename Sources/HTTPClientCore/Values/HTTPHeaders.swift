import SystemBase

/// The header fields of a message, in order. Names are compared without regard to case, and each field is checked when
/// it is made.
///
/// A literal takes only constants, so nothing from outside gets in unchecked:
///
///     var headers: HTTPHeaders = ["Accept": "application/json"]
///     try headers.set("Authorization", to: "Bearer \(token)")
public struct HTTPHeaders: Hashable, Sendable {
  private var fields: [HTTPField] = []

  /// Makes an empty list.
  public init() {}

  /// Takes fields in order; several may have the same name.
  public init(_ fields: some Sequence<HTTPField>) {
    self.fields = Array(fields)
  }

  /// The value of the fields with this name; several values are joined with commas (RFC 9110, section 5.3).
  public subscript(name: String) -> String? {
    get {
      guard let first = firstIndex(of: name, from: 0) else { return nil }
      guard firstIndex(of: name, from: first + 1) != nil else { return fields[first].value }
      return values(of: name).joined(separator: ", ")
    }
    @available(*, unavailable, message: "a value may not be valid: write try headers.set(name, to: value)")
    set {}
  }

  /// The values of the fields with this name, in order.
  public func values(of name: String) -> [String] {
    fields.filter { $0.hasName(name) }.map(\.value)
  }

  /// Whether there is a field with this name.
  public func contains(_ name: String) -> Bool {
    firstIndex(of: name, from: 0) != nil
  }

  /// Whether there is a field with one of these names.
  package func contains(anyOf names: [String]) -> Bool {
    for index in fields.indices {
      for other in names.indices where fields[index].hasName(names[other]) { return true }
    }
    return false
  }

  /// Whether there is a field whose name begins with this.
  package func contains(namePrefix prefix: String) -> Bool {
    for index in fields.indices where fields[index].hasName(prefix: prefix) { return true }
    return false
  }

  /// What these fields have in common with their copies alone, as long as one of them is kept.
  var identity: Identity { Identity(fields.withUnsafeBufferPointer { $0.baseAddress }) }

  /// Where fields stand in memory.
  struct Identity: Equatable {
    private let address: UnsafePointer<HTTPField>?

    fileprivate init(_ address: UnsafePointer<HTTPField>?) { self.address = address }
  }

  /// The index of the first field with this name, at or after `start`.
  package func firstIndex(of name: String, from start: Int) -> Int? {
    // By index: an iterator would copy each field, which costs reference counting.
    for index in start..<fields.count where fields[index].hasName(name) { return index }
    return nil
  }

  /// The name of the first field that controls where the message ends or what happens to the connection.
  var framingName: String? {
    for index in 0..<fields.count where fields[index].isFraming { return fields[index].name }
    return nil
  }

  /// Replaces all fields with this name by one; throws `invalidRequest` if the field is not valid.
  public mutating func set(_ name: String, to value: String) throws(RequestError) {
    let field = try HTTPField(name: name, value: value)
    remove(name)
    fields.append(field)
  }

  /// Sets `Authorization` to a user name and a password, in UTF-8 (RFC 7617). Send it over TLS only: anyone who sees it
  /// can read both. As of any field, the value is never printed.
  ///
  /// Throws `invalidRequest` if the name contains a colon, or either of them a control character (RFC 7617, section 2);
  /// the error shows neither.
  public mutating func setBasicAuthorization(userName: String, password: String) throws(RequestError) {
    guard !userName.utf8.contains(UInt8(ascii: ":")), !userName.holdsControl, !password.holdsControl else {
      throw RequestError(
        .invalidRequest, "The user name must not contain a colon, and neither it nor the password control characters.")
    }
    try set("Authorization", to: "Basic \(Data("\(userName):\(password)".utf8).base64EncodedString())")
  }

  /// Adds a field and keeps those with the same name; throws `invalidRequest` if the field is not valid.
  public mutating func append(_ name: String, _ value: String) throws(RequestError) {
    fields.append(try HTTPField(name: name, value: value))
  }

  /// Adds a field and keeps those with the same name.
  public mutating func append(_ field: HTTPField) {
    fields.append(field)
  }

  /// Removes all fields with this name.
  public mutating func remove(_ name: String) {
    // Most often there is none, and then the fields stay shared.
    if contains(name) { fields.removeAll { $0.hasName(name) } }
  }

  /// These fields, and the `defaults` whose names do not occur here.
  public func adding(defaults: HTTPHeaders) -> HTTPHeaders {
    guard !isEmpty else { return defaults }
    var headers = self
    headers.fields.reserveCapacity(count + defaults.count)
    for field in defaults.fields where !contains(field.name) { headers.fields.append(field) }
    return headers
  }
}

extension HTTPHeaders: RandomAccessCollection {
  /// The position of the first field.
  public var startIndex: Int { fields.startIndex }
  /// The position after the last field.
  public var endIndex: Int { fields.endIndex }
  /// The field at a position.
  public subscript(position: Int) -> HTTPField { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  /// Takes constants; a field that is not valid is a programming error, and traps.
  public init(dictionaryLiteral elements: (StaticString, StaticString)...) {
    for (name, value) in elements {
      do {
        try append("\(name)", "\(value)")
      } catch {
        preconditionFailure("A header literal is not valid: \(error.message)")
      }
    }
  }
}

extension HTTPHeaders: CustomStringConvertible, CustomDebugStringConvertible {
  /// The fields, one per line, with values redacted that may be secret.
  public var description: String { fields.map(\.description).joined(separator: "\n") }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }
}

/// The version of all modules.
package enum SDKVersion {
  package static let current = "0.1.0"
}
