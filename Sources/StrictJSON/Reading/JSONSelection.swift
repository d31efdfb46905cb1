import SystemBase

/// The members of an object that a GraphQL document selects: a type that `graphql generate` writes.
///
/// Its one initialiser reads its members in the order of the selection, which is the order in which servers respond
/// (GraphQL specification, section 7.2.2); members in any other order are found, too, for one more pass over the object.
/// So generated code has one call a member:
///
///     extension User: JSONSelection {
///       public init(selecting json: inout JSONReader) throws(JSONError) {
///         name = try json.string("name")
///         age = try json.optionalInt("age")
///         friends = try json.list("friends")
///       }
///     }
///
/// The calls are never inlined, so that a type takes little code and little time to compile. Members that nothing reads
/// are checked and skipped. Of equal keys the first counts.
public protocol JSONSelection: JSONDecodable {
  /// Reads the members of the object that is open.
  init(selecting json: inout JSONReader) throws(JSONError)
}

extension JSONSelection {
  /// Reads an object. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    let outer = try json.open()
    do throws(JSONError) {
      self = try Self(selecting: &json)
      try json.close(outer)
    } catch {
      json.abandon(outer)
      throw error
    }
  }

  /// Reads what another decoder has, for a type that is also `Decodable`; ``JSONCoder`` reads the bytes.
  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer().decode(JSONValue.self)
    do throws(JSONError) {
      try self.init(json: value.json().bytes)
    } catch {
      throw DecodingError(error.inside(decoder.codingPath, from: 0), type: Self.self)
    }
  }
}

/// The object of which a ``JSONSelection`` reads the members.
@frozen @usableFromInline
struct OpenObject {
  /// Where its first member begins.
  @usableFromInline var start: UnsafePointer<UInt8>
  /// Where the members of the object are in the reader's index, once one was not where it was expected.
  @usableFromInline var indexed: Range<Int>?
  /// The member in the index that is expected next.
  @usableFromInline var next = 0
  /// Where the object ends; known once it is indexed.
  @usableFromInline var end: UnsafePointer<UInt8>?
  /// Whether more than one type reads it, so that a member that is past may be read again.
  @usableFromInline var isShared = false
  /// Where its `__typename` is, once it has been met.
  @usableFromInline var typename: UnsafePointer<UInt8>?

  @inlinable
  init(start: UnsafePointer<UInt8>) {
    self.start = start
  }
}

/// A member of an object that does not have its members in the expected order.
@usableFromInline
struct IndexedMember {
  var key: UnsafePointer<UInt8>
  var keyCount: Int
  var keyShape: JSONReader.StringShape
  var value: UnsafePointer<UInt8>
}

extension JSONReader {
  /// Enters an object; returns the one around it.
  @inline(never)
  mutating func open() throws(JSONError) -> OpenObject {
    try beginObject()
    let outer = object
    object = OpenObject(start: position)
    return outer
  }

  /// Leaves the object, and skips what nobody read.
  @inline(never)
  mutating func close(_ outer: OpenObject) throws(JSONError) {
    if let indexed = object.indexed, let end = object.end {
      position = end
      leave()
      index.removeSubrange(indexed)
    } else {
      while try nextKey() { try skipValue() }
    }
    object = outer
  }

  /// Gives up an object that cannot be read.
  mutating func abandon(_ outer: OpenObject) {
    if let indexed = object.indexed { index.removeSubrange(indexed.lowerBound...) }
    object = outer
  }

  /// Goes to the value of a member of the object; returns whether there is one.
  @inline(__always)
  package mutating func seek(_ name: StaticString) throws(JSONError) -> Bool {
    if takeKey(name) { return true }
    return try search(for: name)
  }

  /// Goes to the value of the next member if that has a name, written without escapes, and nothing is odd between.
  @inline(__always)
  private mutating func takeKey(_ name: StaticString) -> Bool {
    guard object.indexed == nil else { return false }
    var next = position
    if !isFirst {
      guard next < end, next.pointee == UInt8(ascii: ",") else { return false }
      next += 1
      if next < end, next.pointee == UInt8(ascii: " ") { next += 1 }
    }
    let count = name.utf8CodeUnitCount
    guard end - next >= count + 3, next[0] == UInt8(ascii: "\""), next[count + 1] == UInt8(ascii: "\""),
      next[count + 2] == UInt8(ascii: ":"), bytesAreEqual(next + 1, name.utf8Start, count)
    else { return false }
    position = next + count + 3
    isFirst = false
    return true
  }

  /// Goes to the value of a member, wherever it is.
  @inline(never)
  private mutating func search(for name: StaticString) throws(JSONError) -> Bool {
    if object.indexed == nil {
      let (place, wasFirst) = (position, isFirst)
      if peek() != UInt8(ascii: "}") {
        if try nextKey(), key(is: name) { return true }
        if key(is: "__typename") {
          // It may come first, whether or not it was selected there.
          object.typename = position
          try skipValue()
          return try search(for: name)
        }
        position = place
        isFirst = wasFirst
      } else if !object.isShared {
        // All members have been read, by other names.
        return false
      }
      try indexMembers()
    }
    guard let indexed = object.indexed else { return false }
    for offset in 0..<indexed.count {
      var place = object.next + offset
      if place >= indexed.upperBound { place -= indexed.count }
      let member = index[place]
      (keyStart, keyCount, keyShape) = (member.key, member.keyCount, member.keyShape)
      if key(is: name) {
        position = member.value
        isFirst = false
        object.next = place + 1 < indexed.upperBound ? place + 1 : indexed.lowerBound
        return true
      }
    }
    return false
  }

  /// Goes through the whole object once, to know where its members are.
  mutating func indexMembers() throws(JSONError) {
    let (first, level) = (index.count, depth)
    position = object.start
    isFirst = true
    while try nextKey() {
      _ = peek()
      index.append(IndexedMember(key: keyStart, keyCount: keyCount, keyShape: keyShape, value: position))
      try skipValue()
    }
    object.end = position - 1
    depth = level
    object.indexed = first..<index.count
    object.next = first
  }

  /// The error for a member that the object lacks.
  @inline(never)
  private mutating func lacks(_ key: StaticString) -> JSONError {
    do throws(JSONError) {
      if object.indexed == nil { try indexMembers() }
      if let end = object.end { position = end + 1 }
      return missing("\(key)")
    } catch {
      return error
    }
  }

  /// Goes to the value of a member that must be there, for what is not inlined in this module alone.
  @usableFromInline @inline(never)
  mutating func findMember(_ key: StaticString) throws(JSONError) { try find(key) }

  /// Goes to the value of a member, for what is not inlined in this module alone; returns whether there is one that is not
  /// null.
  @usableFromInline @inline(never)
  mutating func findMemberValue(_ key: StaticString) throws(JSONError) -> Bool { try findValue(key) }

  /// Goes to the value of a member that must be there.
  @inline(__always)
  package mutating func find(_ key: StaticString) throws(JSONError) {
    guard try seek(key) else { throw lacks(key) }
  }

  /// Goes to the value of a member; returns whether there is one that is not null.
  @inline(__always)
  package mutating func findValue(_ key: StaticString) throws(JSONError) -> Bool {
    guard try seek(key) else { return false }
    return try !readNull()
  }
}
