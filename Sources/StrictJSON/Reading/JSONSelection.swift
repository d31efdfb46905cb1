import SystemBase

/// The members of an object that a GraphQL document selects: a type that `graphql generate` writes.
///
/// Its one initialiser reads its members in the order of the selection, which is the order in which servers respond
/// (GraphQL specification, section 7.2.2); members in any other order are found, too, for one more pass over the object.
/// So generated code has one call a member:
///
///     extension User: JSONSelection {
///       public init(selecting json: inout JSONReader) throws(JSONError) {
///         try self.init(name: json.string("name"), age: json.optionalInt("age"), friends: json.list("friends"))
///       }
///     }
///
/// The calls are never inlined, so that a type takes little code and little time to compile. Members that nothing reads
/// are checked and skipped. Of equal keys the first counts. A type that catches errors of its members uses
/// ``JSONReader/readResult(_:)``, which also passes the value that could not be read: `try?` alone does not.
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
  @frozen @usableFromInline
  struct Flags: OptionSet {
    @usableFromInline let rawValue: UInt8

    @inlinable
    init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// More than one type reads it, so that a member that is past may be read again.
    static var isShared: Flags { Flags(rawValue: 1) }
    /// The last of the reader's notes is about it.
    static var isNoted: Flags { Flags(rawValue: 2) }
    /// Its members are in the index, since one was not where it was expected.
    static var isIndexed: Flags { Flags(rawValue: 4) }
  }

  /// Where its first member begins.
  @usableFromInline var start: UnsafePointer<UInt8>
  @usableFromInline var flags = Flags(rawValue: 0)

  @inlinable
  init(start: UnsafePointer<UInt8>) {
    self.start = start
  }
}

/// What a reader has to remember of the objects that are open, if their members are not simply read in their order.
@usableFromInline
final class SelectionNotes {
  /// What there is to say of one object.
  struct Note {
    /// Its members in the index.
    var members = 0..<0
    /// The member that is expected next.
    var next = 0
    /// Where the object ends, if it is indexed.
    var end: UnsafePointer<UInt8>?
    /// Where its `__typename` is, once it has been met.
    var typename: UnsafePointer<UInt8>?
  }

  struct Member {
    let key: UnsafePointer<UInt8>
    let keyCount: Int
    let keyShape: JSONReader.StringShape
    let value: UnsafePointer<UInt8>
  }

  // One reader has it, and uses it in one place at a time.
  @exclusivity(unchecked) var all: [Note] = []
  @exclusivity(unchecked) var index: [Member] = []
  /// A copy of the text, for values that keep what they were read from.
  @exclusivity(unchecked) var text: [UInt8] = []
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
    if object.flags.contains(.isIndexed), let end = note?.end {
      position = end
      leave()
    } else {
      while try nextKey() { try skipValue() }
    }
    abandon(outer)
  }

  /// Gives up an object, whether or not all of it was read.
  mutating func abandon(_ outer: OpenObject) {
    if object.flags.contains(.isNoted), let note = notes?.all.popLast(), object.flags.contains(.isIndexed) {
      notes?.index.removeSubrange(note.members.lowerBound...)
    }
    object = outer
  }

  /// What is noted of the object.
  var note: SelectionNotes.Note? { object.flags.contains(.isNoted) ? notes?.all.last : nil }

  /// What is noted of all objects and of the text.
  mutating func makeNotes() -> SelectionNotes {
    if let notes { return notes }
    let new = SelectionNotes()
    notes = new
    return new
  }

  private mutating func note(_ change: (inout SelectionNotes.Note) -> Void) {
    let notes = makeNotes()
    if !object.flags.contains(.isNoted) {
      notes.all.append(SelectionNotes.Note())
      object.flags.insert(.isNoted)
    }
    change(&notes.all[notes.all.count - 1])
  }

  /// Notes that the `__typename` of the object is next; of several, the first counts.
  mutating func noteTypename() {
    let place = position
    note { $0.typename = $0.typename ?? place }
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
    guard !object.flags.contains(.isIndexed) else { return false }
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
    while !object.flags.contains(.isIndexed) {
      let (place, wasFirst) = (position, isFirst)
      if peek() == UInt8(ascii: "}") {
        // All members have been read, by other names.
        if !object.flags.contains(.isShared) { return false }
      } else {
        if try nextKey(), key(is: name) { return true }
        if key(is: "__typename") {
          // It may come first, whether or not it was selected there.
          noteTypename()
          try skipValue()
          continue
        }
        position = place
        isFirst = wasFirst
      }
      try indexMembers()
    }
    guard let notes, let note else { return false }
    for offset in 0..<note.members.count {
      var place = note.next + offset
      if place >= note.members.upperBound { place -= note.members.count }
      let member = notes.index[place]
      (keyStart, keyCount, keyShape) = (member.key, member.keyCount, member.keyShape)
      if key(is: name) {
        position = member.value
        isFirst = false
        expectMember(place + 1 < note.members.upperBound ? place + 1 : note.members.lowerBound)
        return true
      }
    }
    return false
  }

  /// Sets which member of an indexed object is expected next.
  mutating func expectMember(_ place: Int) { note { $0.next = place } }

  /// Goes through the whole object once, to know where its members are.
  mutating func indexMembers() throws(JSONError) {
    let notes = makeNotes()
    let (first, level) = (notes.index.count, depth)
    position = object.start
    isFirst = true
    while try nextKey() {
      _ = peek()
      notes.index.append(
        SelectionNotes.Member(key: keyStart, keyCount: keyCount, keyShape: keyShape, value: position))
      try skipValue()
    }
    depth = level
    let end = position - 1
    note { ($0.members, $0.next, $0.end) = (first..<notes.index.count, first, end) }
    object.flags.insert(.isIndexed)
  }

  /// The error for a member that the object lacks.
  @inline(never)
  private mutating func lacks(_ key: StaticString) -> JSONError {
    do throws(JSONError) {
      if !object.flags.contains(.isIndexed) { try indexMembers() }
      if let end = note?.end { position = end + 1 }
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
