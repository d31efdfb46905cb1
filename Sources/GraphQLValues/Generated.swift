public import StrictJSON

/// Keeps a value elsewhere, so that an input object can have a field of its own type.
public struct Indirect<Value> {
  fileprivate indirect enum Storage {
    case value(Value)
  }

  private var storage: Storage

  /// The value.
  public var wrappedValue: Value {
    get {
      switch storage {
      case .value(let value): value
      }
    }
    set { storage = .value(newValue) }
  }

  /// Keeps a value.
  public init(wrappedValue: Value) { storage = .value(wrappedValue) }
}

extension Indirect.Storage: Sendable where Value: Sendable {}
extension Indirect: Sendable where Value: Sendable {}

extension Indirect: Equatable where Value: Equatable {
  /// Whether the values are equal.
  public static func == (left: Indirect, right: Indirect) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension Indirect: Hashable where Value: Hashable {
  /// Hashes the value.
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

/// What generated code calls to read values of GraphQL's `ID` type, as `readID()` does; never inlined.
extension JSONReader {
  /// An id.
  @inline(never)
  public mutating func id(_ key: StaticString) throws(JSONError) -> String {
    try find(key)
    return try readID()
  }

  /// An id; `nil` if it is null or left out.
  @inline(never)
  public mutating func optionalID(_ key: StaticString) throws(JSONError) -> String? {
    try findValue(key) ? readID() : nil
  }

  /// A list of ids.
  @inline(never)
  public mutating func ids(_ key: StaticString) throws(JSONError) -> [String] {
    try find(key)
    return try readIDs()
  }

  /// A list of ids; `nil` if it is null or left out.
  @inline(never)
  public mutating func optionalIDs(_ key: StaticString) throws(JSONError) -> [String]? {
    try findValue(key) ? readIDs() : nil
  }

  private mutating func readIDs() throws(JSONError) -> [String] {
    var ids: [String] = []
    try beginArray()
    while try nextElement() { ids.append(try readID()) }
    return ids
  }
}

/// What generated code calls to write a member that may be absent; never inlined.
extension JSONWriter {
  /// A value of any type that writes itself, `null`, or nothing.
  @inline(never)
  public mutating func member<Value: JSONEncodable>(_ key: StaticString, _ value: GraphQLNullable<Value>) {
    switch value {
    case .absent: break
    case .null:
      writeKey(key)
      writeNull()
    case .some(let value): write(key, value)
    }
  }
}
