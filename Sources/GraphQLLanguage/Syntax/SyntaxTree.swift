import Synchronization

/// What a node of a syntax tree is.
public enum SyntaxKind: UInt8, Hashable, Sendable {
  /// The root: a document. A value or a type that is parsed alone is a root, too.
  case document

  // Executable definitions (specification, section 2).
  /// `query`, `mutation`, `subscription`, or a selection set alone.
  case operation
  /// `fragment … on …`.
  case fragmentDefinition
  /// `{ … }`, of selections.
  case selectionSet
  /// `alias: name(arguments) @directives { … }`.
  case field
  /// `...name`.
  case fragmentSpread
  /// `... on Type { … }`.
  case inlineFragment
  /// `$name: Type = default`.
  case variableDefinition
  /// `name: value`, in brackets after a field or a directive.
  case argument
  /// `@name(arguments)`.
  case directive

  // Values (section 2.9).
  /// `$name`.
  case variable
  /// `42`.
  case int
  /// `4.2`.
  case float
  /// `"text"` or `"""text"""`; descriptions are strings, too.
  case string
  /// `true` or `false`.
  case boolean
  /// `null`.
  case null
  /// `NAME`.
  case enumValue
  /// `[ … ]`.
  case list
  /// `{ … }`, of object fields.
  case object
  /// `name: value`, in an object.
  case objectField

  // Types (section 2.11); `!` is a flag of the node.
  /// `Name`.
  case namedType
  /// `[Type]`.
  case listType

  // Type system definitions and extensions (section 3).
  /// `schema { … }`.
  case schemaDefinition
  /// `query: Type`.
  case operationTypeDefinition
  /// `scalar`.
  case scalarTypeDefinition
  /// `type`.
  case objectTypeDefinition
  /// `interface`.
  case interfaceTypeDefinition
  /// `union`.
  case unionTypeDefinition
  /// `enum`.
  case enumTypeDefinition
  /// `input`.
  case inputObjectTypeDefinition
  /// `directive @name on …`.
  case directiveDefinition
  /// A field of an object or an interface.
  case fieldDefinition
  /// An argument of a field or a directive, or a field of an input object.
  case inputValueDefinition
  /// A value of an enum.
  case enumValueDefinition
  /// A place where a directive may stand.
  case directiveLocation

  // Lists of nodes; a list that is left out has no node.
  /// Of `variableDefinition`.
  case variableDefinitions
  /// Of `argument`.
  case arguments
  /// Of `directive`.
  case directives
  /// Of `operationTypeDefinition`.
  case operationTypeDefinitions
  /// Of `namedType`: what a type implements.
  case interfaces
  /// Of `fieldDefinition`.
  case fieldDefinitions
  /// Of `inputValueDefinition`.
  case inputValueDefinitions
  /// Of `namedType`: the members of a union.
  case unionMembers
  /// Of `enumValueDefinition`.
  case enumValueDefinitions
  /// Of `directiveLocation`.
  case directiveLocations
}

/// A parsed text: its bytes, and its nodes in one array, each before its children.
///
/// The children of node `i` begin at `i + 1`, and each ends where its next sibling begins, so that a tree takes 24 bytes
/// a node, is made without an allocation for any of them, and is freed in one step.
@usableFromInline
final class SyntaxTree: Sendable {
  @usableFromInline
  struct Node: Sendable {
    @usableFromInline let kind: SyntaxKind
    @usableFromInline var flags: Flags = []
    /// The bytes of the source that the node takes.
    @usableFromInline let start: UInt32
    @usableFromInline var end: UInt32 = 0
    /// The bytes of its name, if it has one. In a list, the first is the number of its elements.
    @usableFromInline var nameStart: UInt32 = 0
    @usableFromInline var nameEnd: UInt32 = 0
    /// The number of the node after its last descendant.
    @usableFromInline var next: UInt32 = 0

    init(_ kind: SyntaxKind, start: Int) {
      self.kind = kind
      self.start = UInt32(truncatingIfNeeded: start)
    }
  }

  @usableFromInline
  struct Flags: OptionSet, Sendable {
    @usableFromInline let rawValue: UInt8

    @usableFromInline
    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A field has an alias: the node begins with it.
    static var alias: Flags { Flags(rawValue: 1) }
    /// A type is followed by `!`.
    static var nonNull: Flags { Flags(rawValue: 1) }
    /// A string is a block string.
    static var block: Flags { Flags(rawValue: 1) }
    /// A definition begins with `extend`.
    static var `extension`: Flags { Flags(rawValue: 1) }
    /// A directive may stand several times in one place.
    static var repeatable: Flags { Flags(rawValue: 1) }
    /// A boolean is `true`.
    static var `true`: Flags { Flags(rawValue: 1) }
    /// An operation is a mutation; without this or the next, it is a query.
    static var mutation: Flags { Flags(rawValue: 2) }
    static var subscription: Flags { Flags(rawValue: 4) }
    /// An operation is a selection set alone.
    static var shorthand: Flags { Flags(rawValue: 8) }
  }

  /// The text, with a zero byte after it.
  @usableFromInline let source: [UInt8]
  @usableFromInline let nodes: [Node]
  private let lines = AtomicLazyReference<LineTable>()

  init(source: [UInt8], nodes: [Node]) {
    self.source = source
    self.nodes = nodes
  }

  func location(of offset: Int) -> SourceLocation {
    let table = lines.load() ?? lines.storeIfNil(LineTable(source, count: source.count - 1))
    return table.location(of: offset, in: source)
  }

  func text(_ range: Range<Int>) -> String {
    String(decoding: source[range], as: UTF8.self)
  }
}

/// A node of a syntax tree. The views, such as `FieldSyntax`, say what is in it.
public struct SyntaxNode: Hashable, Sendable {
  @usableFromInline let tree: SyntaxTree

  /// The node's number in its tree: a node comes before its children, and they come in the order of the text.
  public let id: UInt32

  @inlinable
  init(_ tree: SyntaxTree, _ id: UInt32) {
    self.tree = tree
    self.id = id
  }

  @inlinable var raw: SyntaxTree.Node { tree.nodes[Int(id)] }

  /// What the node is.
  @inlinable public var kind: SyntaxKind { tree.nodes[Int(id)].kind }

  /// The bytes that it takes, as offsets in UTF-8. A definition begins with its description.
  @inlinable public var range: Range<Int> {
    let node = raw
    return Int(node.start)..<Int(node.end)
  }

  /// The place where it begins. The first location of a tree costs a look at each of its bytes.
  public var location: SourceLocation { tree.location(of: Int(raw.start)) }

  /// Its text as it was written.
  public var text: String { tree.text(range) }

  /// Whether two nodes are written in the same way, white space included.
  package func isWritten(like other: SyntaxNode) -> Bool {
    tree.source[range].elementsEqual(other.tree.source[other.range])
  }

  /// The numbers of the node and of all that is in it: a node comes before its children.
  package var subtree: Range<UInt32> { id..<raw.next }

  /// Its children, in order.
  @inlinable public var children: SyntaxList<SyntaxNode> {
    SyntaxList(tree, id + 1, tree.nodes[Int(id)].next)
  }

  /// The first child of a kind.
  @inlinable public func child(_ kind: SyntaxKind) -> SyntaxNode? {
    var next = id + 1
    let end = tree.nodes[Int(id)].next
    while next < end {
      let node = tree.nodes[Int(next)]
      if node.kind == kind { return SyntaxNode(tree, next) }
      next = node.next
    }
    return nil
  }

  /// The elements of the child that is a list of a kind; none if the text has no such list.
  @inlinable func elements<Element>(_ kind: SyntaxKind, as type: Element.Type = Element.self) -> SyntaxList<Element> {
    guard let list = child(kind) else { return SyntaxList(tree, id, id) }
    return SyntaxList(tree, list.id + 1, list.raw.next)
  }

  @inlinable var name: NameSyntax {
    let node = raw
    return NameSyntax(tree, node.nameStart, node.nameEnd)
  }

  /// Whether two nodes are the same node of one tree.
  @inlinable public static func == (left: SyntaxNode, right: SyntaxNode) -> Bool {
    left.tree === right.tree && left.id == right.id
  }

  /// Hashes the number of the node.
  @inlinable public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
  }
}

extension SyntaxNode: SyntaxView {
  /// The node itself.
  @inlinable public var node: SyntaxNode { self }

  /// The node itself.
  @inlinable public init?(_ node: SyntaxNode) {
    self = node
  }
}

/// What is known of a node by its kind.
public protocol SyntaxView: Hashable, Sendable {
  /// The node that is seen.
  var node: SyntaxNode { get }

  /// The view of a node; `nil` if the node is of another kind.
  init?(_ node: SyntaxNode)
}

extension SyntaxView {
  /// The number of the node in its tree.
  @inlinable public var id: UInt32 { node.id }

  /// The place where it begins.
  public var location: SourceLocation { node.location }

  /// The bytes that it takes, as offsets in UTF-8.
  @inlinable public var range: Range<Int> { node.range }

  /// Its text as it was written.
  public var text: String { node.text }
}

/// Nodes that follow one another in a tree.
public struct SyntaxList<Element: SyntaxView>: Collection, Sendable {
  /// The place of an element.
  public struct Index: Comparable, Sendable {
    @usableFromInline let id: UInt32

    @inlinable init(_ id: UInt32) { self.id = id }

    /// Whether a place comes before another.
    @inlinable public static func < (left: Index, right: Index) -> Bool { left.id < right.id }
  }

  @usableFromInline let tree: SyntaxTree

  /// The place of the first element.
  public let startIndex: Index

  /// The place after the last element.
  public let endIndex: Index

  @inlinable init(_ tree: SyntaxTree, _ start: UInt32, _ end: UInt32) {
    self.tree = tree
    startIndex = Index(start)
    endIndex = Index(end)
  }

  /// The place after another.
  @inlinable public func index(after index: Index) -> Index { Index(tree.nodes[Int(index.id)].next) }

  /// The element at a place.
  @inlinable public subscript(index: Index) -> Element {
    guard let element = Element(SyntaxNode(tree, index.id)) else {
      preconditionFailure("the node is none of the list's")
    }
    return element
  }
}

/// A name in the text (specification, section 2.1.9).
public struct NameSyntax: Hashable, Sendable, CustomStringConvertible {
  @usableFromInline let tree: SyntaxTree
  @usableFromInline let start: UInt32
  @usableFromInline let end: UInt32

  @inlinable
  init(_ tree: SyntaxTree, _ start: UInt32, _ end: UInt32) {
    self.tree = tree
    self.start = start
    self.end = end
  }

  /// The name.
  public var text: String { tree.text(range) }

  /// The bytes that it takes, as offsets in UTF-8.
  @inlinable public var range: Range<Int> { Int(start)..<Int(end) }

  /// The place where it begins.
  public var location: SourceLocation { tree.location(of: Int(start)) }

  /// The name.
  public var description: String { text }

  /// Lends the name's bytes, all of them ASCII, without a copy.
  @inlinable public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    tree.source.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
  }

  /// Whether two names are spelt the same, also in different texts.
  @inlinable public static func == (left: NameSyntax, right: NameSyntax) -> Bool {
    left.end - left.start == right.end - right.start
      && left.withBytes { left in right.withBytes { right in left.elementsEqual(right) } }
  }

  /// Hashes the spelling.
  public func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) } }

  /// Whether a name is spelt like a text.
  @inlinable public static func == (name: NameSyntax, text: String) -> Bool {
    name.withBytes { $0.elementsEqual(text.utf8) }
  }
}
