/// What generated code calls: each reads a member of the object that is open, and is never inlined. Those that are generic are
/// compiled once for each type.
///
/// A member that is required, and missing, is an error that names its path; so is one of the wrong type. Where a name begins
/// with `optional`, the value is `nil` if the member is null or left out.
extension JSONReader {
  /// A string.
  @inline(never)
  public mutating func string(_ key: StaticString) throws(JSONError) -> String {
    try find(key)
    return try readString()
  }

  /// A string, or `nil`.
  @inline(never)
  public mutating func optionalString(_ key: StaticString) throws(JSONError) -> String? {
    try findValue(key) ? readString() : nil
  }

  /// A whole number.
  @inline(never)
  public mutating func int(_ key: StaticString) throws(JSONError) -> Int {
    try find(key)
    return try readInteger()
  }

  /// A whole number, or `nil`.
  @inline(never)
  public mutating func optionalInt(_ key: StaticString) throws(JSONError) -> Int? {
    try findValue(key) ? readInteger() : nil
  }

  /// A number.
  @inline(never)
  public mutating func double(_ key: StaticString) throws(JSONError) -> Double {
    try find(key)
    return try readDouble()
  }

  /// A number, or `nil`.
  @inline(never)
  public mutating func optionalDouble(_ key: StaticString) throws(JSONError) -> Double? {
    try findValue(key) ? readDouble() : nil
  }

  /// A boolean.
  @inline(never)
  public mutating func bool(_ key: StaticString) throws(JSONError) -> Bool {
    try find(key)
    return try readBool()
  }

  /// A boolean, or `nil`.
  @inline(never)
  public mutating func optionalBool(_ key: StaticString) throws(JSONError) -> Bool? {
    try findValue(key) ? readBool() : nil
  }

  /// A list of strings.
  @inline(never)
  public mutating func strings(_ key: StaticString) throws(JSONError) -> [String] {
    try find(key)
    return try [String](from: &self)
  }

  /// A list of strings, or `nil`.
  @inline(never)
  public mutating func optionalStrings(_ key: StaticString) throws(JSONError) -> [String]? {
    try findValue(key) ? [String](from: &self) : nil
  }

  /// A value of any type that reads itself.
  @inlinable @inline(never)
  public mutating func value<Value: JSONDecodable>(_ key: StaticString) throws(JSONError) -> Value {
    try findMember(key)
    return try Value(from: &self)
  }

  /// A value of any type that reads itself, or `nil`.
  @inlinable @inline(never)
  public mutating func optionalValue<Value: JSONDecodable>(_ key: StaticString) throws(JSONError) -> Value? {
    try findMemberValue(key) ? Value(from: &self) : nil
  }

  /// A list.
  @inline(never)
  public mutating func list<Item: JSONDecodable>(_ key: StaticString) throws(JSONError) -> [Item] {
    try find(key)
    return try list()
  }

  /// A list, or `nil`.
  @inline(never)
  public mutating func optionalList<Item: JSONDecodable>(_ key: StaticString) throws(JSONError) -> [Item]? {
    try findValue(key) ? list() : nil
  }

  /// Reads a list. This is compiled once for all types, so that an array is made once, when all items are there: each time that
  /// it grows, the runtime looks up its type.
  @usableFromInline @inline(never)
  mutating func list<Item: JSONDecodable>() throws(JSONError) -> [Item] {
    try beginArray()
    guard try nextElement() else { return [] }
    var items = UnsafeMutablePointer<Item>.allocate(capacity: 4)
    var (count, capacity) = (0, 4)
    defer { items.deallocate() }
    do throws(JSONError) {
      repeat {
        if count == capacity {
          capacity *= 2
          let larger = UnsafeMutablePointer<Item>.allocate(capacity: capacity)
          larger.moveInitialize(from: items, count: count)
          items.deallocate()
          items = larger
        }
        (items + count).initialize(to: try Item(from: &self))
        count += 1
      } while try nextElement()
    } catch {
      items.deinitialize(count: count)
      throw error
    }
    return Array(unsafeUninitializedCapacity: count) { buffer, initialized in
      buffer.baseAddress?.moveInitialize(from: items, count: count)
      initialized = count
    }
  }
}

/// For objects that `@include` or `@skip` may leave out. That there is a value proves nothing: a fragment beside the field may
/// select it, too, and another part of it. So it is `nil` if a member of it is missing that is not optional.
extension JSONReader {
  /// An object, or lists of objects, or `nil`.
  @inlinable @inline(never)
  public mutating func valueIfComplete<Value: JSONDecodable>(_ key: StaticString) throws(JSONError) -> Value? {
    guard try findMemberValue(key) else { return nil }
    let place = ValuePlace(of: self)
    do throws(JSONError) {
      return try Value(from: &self)
    } catch {
      try pass(place, after: error)
      return nil
    }
  }

  /// A list of objects, or `nil`.
  @inlinable @inline(never)
  public mutating func listIfComplete<Item: JSONDecodable>(_ key: StaticString) throws(JSONError) -> [Item]? {
    guard try findMemberValue(key) else { return nil }
    let place = ValuePlace(of: self)
    do throws(JSONError) {
      return try list()
    } catch {
      try pass(place, after: error)
      return nil
    }
  }

  /// Where a value begins.
  @frozen @usableFromInline
  struct ValuePlace {
    @usableFromInline let position: UnsafePointer<UInt8>
    @usableFromInline let depth: Int

    @inlinable
    init(of json: borrowing JSONReader) {
      (position, depth) = (json.position, json.depth)
    }
  }

  /// Skips a value of which a member is missing; throws any other error.
  @usableFromInline @inline(never)
  mutating func pass(_ place: ValuePlace, after error: JSONError) throws(JSONError) {
    guard case .missing = error.kind else { throw error }
    try skip(from: place.position, depth: place.depth)
  }
}

/// For values that a closure reads.
extension JSONReader {
  /// A value.
  @inline(never)
  public mutating func value<Value>(
    _ key: StaticString, _ read: (inout JSONReader) throws(JSONError) -> Value
  ) throws(JSONError) -> Value {
    try find(key)
    return try read(&self)
  }

  /// A value, or `nil`.
  @inline(never)
  public mutating func optionalValue<Value>(
    _ key: StaticString, _ read: (inout JSONReader) throws(JSONError) -> Value
  ) throws(JSONError) -> Value? {
    try findValue(key) ? read(&self) : nil
  }

  /// The items of the list that is next.
  @inline(never)
  public mutating func items<Item>(
    _ read: (inout JSONReader) throws(JSONError) -> Item
  ) throws(JSONError) -> [Item] {
    var items: [Item] = []
    try beginArray()
    while try nextElement() { items.append(try read(&self)) }
    return items
  }

  /// The value that is next; `nil` for null.
  @inline(never)
  public mutating func orNull<Value>(
    _ read: (inout JSONReader) throws(JSONError) -> Value
  ) throws(JSONError) -> Value? {
    try readNull() ? nil : read(&self)
  }
}

/// For fragments, which read members of the object that others read, too.
extension JSONReader {
  /// The members that a fragment selects of the object.
  @inline(never)
  public mutating func fragment<Fragment: JSONSelection>() throws(JSONError) -> Fragment {
    object.flags.insert(.isShared)
    return try Fragment(selecting: &self)
  }

  /// The members that a fragment selects; `nil` if one of them is missing: for a fragment that `@include` or `@skip` may
  /// leave out.
  ///
  /// - Parameter key: A member that a fragment always selects: if it is missing, nothing else is tried. That it is there proves
  ///   nothing, since others may select it, too.
  @inline(never)
  public mutating func fragment<Fragment: JSONSelection>(ifHas key: StaticString) throws(JSONError) -> Fragment? {
    object.flags.insert(.isShared)
    let (place, wasFirst) = (position, isFirst)
    let next = object.flags.contains(.isIndexed) ? note?.next : nil
    let mayBeThere = try seek(key)
    position = place
    isFirst = wasFirst
    if let next { expectMember(next) }
    return mayBeThere ? try fragmentIfComplete() : nil
  }

  /// The members that a fragment selects; `nil` if one of them is missing: for a fragment that `@include` or `@skip` may
  /// leave out, and of which nothing says whether they did.
  @inline(never)
  public mutating func fragmentIfComplete<Fragment: JSONSelection>() throws(JSONError) -> Fragment? {
    object.flags.insert(.isShared)
    let (place, wasFirst, level) = (position, isFirst, depth)
    do throws(JSONError) {
      return try Fragment(selecting: &self)
    } catch {
      guard case .missing = error.kind else { throw error }
      depth = level
      // Once the object is indexed, its members are found from wherever the reader is.
      if !object.flags.contains(.isIndexed) { (position, isFirst) = (place, wasFirst) }
      return nil
    }
  }

  /// The members that a fragment selects; `nil` if the object is of none of the types that the fragment is for.
  @inline(never)
  public mutating func fragment<Fragment: JSONSelection>(ifType types: Set<String>) throws(JSONError) -> Fragment? {
    object.flags.insert(.isShared)
    return try types.contains(typename()) ? fragment() : nil
  }

  /// The name of the object's type, or `nil` if it is left out.
  @inline(never)
  public mutating func optionalTypename() throws(JSONError) -> String? {
    guard note?.typename == nil else { return try typename() }
    guard try seek("__typename") else { return nil }
    noteTypename()
    return try readName()
  }

  /// The name of the object's type: its `__typename`.
  @inline(never)
  public mutating func typename() throws(JSONError) -> String {
    if let known = note?.typename {
      let (place, wasFirst) = (position, isFirst)
      position = known
      let name = try readName()
      position = place
      isFirst = wasFirst
      return name
    }
    try find("__typename")
    noteTypename()
    return try readName()
  }
}
