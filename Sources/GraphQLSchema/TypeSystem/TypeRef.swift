/// The number of a named type in its schema.
struct TypeID: Hashable, Comparable, Sendable {
  let rawValue: UInt32

  static func < (a: TypeID, b: TypeID) -> Bool { a.rawValue < b.rawValue }
}

/// A type as it stands in a definition, in eight bytes: a named type, and the lists and non-nulls around it.
///
/// From the outermost level inwards, two bits each say whether the level is non-null, and whether it is a list. So lists
/// nest at most `deepest` deep.
struct TypeRef: Hashable, Sendable {
  let named: TypeID
  private let levels: UInt32

  static let deepest = 15

  private static let nonNull: UInt32 = 1
  private static let list: UInt32 = 2

  /// The named type itself, which may be null.
  init(_ named: TypeID) {
    self.init(named: named, levels: 0)
  }

  private init(named: TypeID, levels: UInt32) {
    self.named = named
    self.levels = levels
  }

  var isNonNull: Bool { levels & Self.nonNull != 0 }
  var isList: Bool { levels & Self.list != 0 }
  var nullable: TypeRef { TypeRef(named: named, levels: levels & ~Self.nonNull) }
  var nonNull: TypeRef { TypeRef(named: named, levels: levels | Self.nonNull) }

  /// The type of the items of a list.
  var item: TypeRef { TypeRef(named: named, levels: levels >> 2) }

  /// A list of this type, or nil if it would nest too deep.
  var listed: TypeRef? {
    levels >> (2 * UInt32(Self.deepest)) == 0 ? TypeRef(named: named, levels: levels << 2 | Self.list) : nil
  }

  /// The type as it is written.
  func text(_ name: String) -> String {
    let inner = isList ? "[" + item.text(name) + "]" : name
    return isNonNull ? inner + "!" : inner
  }

  /// Whether every value of this type is one of `other`, where the closure says it of named types.
  func isSubtype(of other: TypeRef, named isNamedSubtype: (TypeID, TypeID) -> Bool) -> Bool {
    var (a, b) = (self, other)
    while true {
      if b.isNonNull && !a.isNonNull || a.isList != b.isList { return false }
      if !a.isList { return isNamedSubtype(a.named, b.named) }
      (a, b) = (a.item, b.item)
    }
  }
}
