import StrictJSON

/// What a server says about its schema: the result of an introspection query, of any age.
///
/// All members but `types`, and the names and kinds of the types, may be missing or null, as servers of earlier
/// specifications leave them out.
struct IntrospectionDocument {
  struct TypeDefinition {
    var kind = ""
    var name = ""
    var description: String?
    var specifiedByURL: String?
    var isOneOf = false
    var fields: [FieldDefinition] = []
    var inputFields: [InputDefinition] = []
    var interfaces: [String] = []
    var possibleTypes: [String] = []
    var enumValues: [ValueDefinition] = []
  }

  struct FieldDefinition {
    var name = ""
    var description: String?
    var type = ""
    var arguments: [InputDefinition] = []
    var deprecation: Deprecation?
  }

  struct InputDefinition {
    var name = ""
    var description: String?
    var type = ""
    var defaultValue: String?
    var deprecation: Deprecation?
  }

  struct ValueDefinition {
    var name = ""
    var description: String?
    var deprecation: Deprecation?
  }

  struct Deprecation {
    var reason: String?
  }

  struct DirectiveDefinition {
    var name = ""
    var description: String?
    var isRepeatable = false
    var locations: [String] = []
    var arguments: [InputDefinition] = []
  }

  var description: String?
  var queryType: String?
  var mutationType: String?
  var subscriptionType: String?
  var types: [TypeDefinition] = []
  var directives: [DirectiveDefinition] = []
}

extension IntrospectionDocument: JSONDecodable {
  /// Reads `{"data": {"__schema": …}}` or `{"__schema": …}`.
  init(from json: inout JSONReader) throws(JSONError) {
    let schema = try Self.schema(&json, isData: false)
    self = try json.require(schema, "__schema")
  }

  private static func schema(_ json: inout JSONReader, isData: Bool) throws(JSONError) -> IntrospectionDocument? {
    var schema: IntrospectionDocument?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "__schema") {
        schema = try IntrospectionDocument(schema: &json)
      } else if !isData, json.key(is: "data"), try json.nextKind() == .object {
        schema = try Self.schema(&json, isData: true)
      } else {
        try json.skipValue()
      }
    }
    return schema
  }

  private init(schema json: inout JSONReader) throws(JSONError) {
    self.init()
    var hasTypes = false
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if json.key(is: "queryType") {
        queryType = try json.readNameOfType()
      } else if json.key(is: "mutationType") {
        mutationType = try json.readNameOfType()
      } else if json.key(is: "subscriptionType") {
        subscriptionType = try json.readNameOfType()
      } else if json.key(is: "types") {
        types = try json.readList(of: TypeDefinition.self)
        hasTypes = true
      } else if json.key(is: "directives") {
        directives = try json.readList(of: DirectiveDefinition.self)
      } else {
        try json.skipValue()
      }
    }
    _ = try json.require(hasTypes ? () : nil, "types")
  }
}

extension IntrospectionDocument.TypeDefinition: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var kind: String?
    var name: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "kind") {
        kind = try json.readName()
      } else if json.key(is: "name") {
        name = try json.readIdentifier()
      } else if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if json.key(is: "specifiedByURL") || json.key(is: "specifiedByUrl") {
        specifiedByURL = try json.readString(orNull: ()) ?? specifiedByURL
      } else if json.key(is: "isOneOf") || json.key(is: "oneField") {
        isOneOf = try json.readBool(orNull: ()) || isOneOf
      } else if json.key(is: "fields") {
        fields = try json.readList(of: IntrospectionDocument.FieldDefinition.self)
      } else if json.key(is: "inputFields") {
        inputFields = try json.readList(of: IntrospectionDocument.InputDefinition.self)
      } else if json.key(is: "interfaces") {
        interfaces = try json.readTypes()
      } else if json.key(is: "possibleTypes") {
        possibleTypes = try json.readTypes()
      } else if json.key(is: "enumValues") {
        enumValues = try json.readList(of: IntrospectionDocument.ValueDefinition.self)
      } else {
        try json.skipValue()
      }
    }
    self.kind = try json.require(kind, "kind")
    self.name = try json.require(name, "name")
  }
}

extension IntrospectionDocument.FieldDefinition: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    var type: String?
    var deprecation = DeprecationMembers()
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.readIdentifier()
      } else if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if json.key(is: "type") {
        type = try json.readType()
      } else if json.key(is: "args") {
        arguments = try json.readList(of: IntrospectionDocument.InputDefinition.self)
      } else if try !deprecation.read(&json) {
        try json.skipValue()
      }
    }
    self.name = try json.require(name, "name")
    self.type = try json.require(type, "type")
    self.deprecation = deprecation.value
  }
}

extension IntrospectionDocument.InputDefinition: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    var type: String?
    var deprecation = DeprecationMembers()
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.readIdentifier()
      } else if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if json.key(is: "type") {
        type = try json.readType()
      } else if json.key(is: "defaultValue") {
        defaultValue = try json.readString(orNull: ())
      } else if try !deprecation.read(&json) {
        try json.skipValue()
      }
    }
    self.name = try json.require(name, "name")
    self.type = try json.require(type, "type")
    self.deprecation = deprecation.value
  }
}

extension IntrospectionDocument.ValueDefinition: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    var deprecation = DeprecationMembers()
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.readIdentifier()
      } else if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if try !deprecation.read(&json) {
        try json.skipValue()
      }
    }
    self.name = try json.require(name, "name")
    self.deprecation = deprecation.value
  }
}

extension IntrospectionDocument.DirectiveDefinition: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.readIdentifier()
      } else if json.key(is: "description") {
        description = try json.readString(orNull: ())
      } else if json.key(is: "isRepeatable") {
        isRepeatable = try json.readBool(orNull: ())
      } else if json.key(is: "locations") {
        locations += try json.readNull() ? [] : [String](from: &json)
      } else if json.key(is: "args") {
        arguments = try json.readList(of: IntrospectionDocument.InputDefinition.self)
      } else if json.key(is: "onOperation") {
        // Until 2016 there were these three in place of locations.
        if try json.readBool(orNull: ()) { locations += ["QUERY", "MUTATION", "SUBSCRIPTION"] }
      } else if json.key(is: "onFragment") {
        if try json.readBool(orNull: ()) {
          locations += ["FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"]
        }
      } else if json.key(is: "onField") {
        if try json.readBool(orNull: ()) { locations += ["FIELD"] }
      } else {
        try json.skipValue()
      }
    }
    self.name = try json.require(name, "name")
    var known: Set<String> = []
    locations.removeAll { !known.insert($0).inserted }
  }
}

/// `isDeprecated` and `deprecationReason`, in whatever order they come.
private struct DeprecationMembers {
  private var isDeprecated = false
  private var reason: String?

  mutating func read(_ json: inout JSONReader) throws(JSONError) -> Bool {
    if json.key(is: "isDeprecated") {
      isDeprecated = try json.readBool(orNull: ())
    } else if json.key(is: "deprecationReason") {
      reason = try json.readString(orNull: ())
    } else {
      return false
    }
    return true
  }

  var value: IntrospectionDocument.Deprecation? {
    isDeprecated || reason != nil ? IntrospectionDocument.Deprecation(reason: reason) : nil
  }
}

extension JSONReader {
  /// A string that is a name by the grammar, so that it can be written into a schema.
  fileprivate mutating func readIdentifier() throws(JSONError) -> String {
    let name = try readString()
    guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
      name.utf8.allSatisfy({ isNameByte($0) })
    else { throw invalid("a name of letters, digits and underscores") }
    return name
  }

  fileprivate mutating func readString(orNull: Void) throws(JSONError) -> String? {
    try readNull() ? nil : readString()
  }

  fileprivate mutating func readBool(orNull: Void) throws(JSONError) -> Bool {
    try readNull() ? false : readBool()
  }

  fileprivate mutating func readList<Element: JSONDecodable>(of type: Element.Type) throws(JSONError) -> [Element] {
    try readNull() ? [] : [Element](from: &self)
  }

  /// The `name` of an object, or nil for null.
  fileprivate mutating func readNameOfType() throws(JSONError) -> String? {
    guard try !readNull() else { return nil }
    var name: String?
    try beginObject()
    while try nextKey() {
      if key(is: "name") { name = try readNull() ? nil : readIdentifier() } else { try skipValue() }
    }
    return name
  }

  fileprivate mutating func readTypes() throws(JSONError) -> [String] {
    guard try !readNull() else { return [] }
    var types: [String] = []
    try beginArray()
    while try nextElement() { types.append(try readType()) }
    return types
  }

  /// A type with its `ofType`, as it is written in a schema: `[ID!]`. The reader limits how deep they nest.
  fileprivate mutating func readType() throws(JSONError) -> String {
    // The types that are begun, each within the one before it.
    var types = [TypeMembers()]
    try beginObject()
    while let last = types.indices.last {
      if try nextKey() {
        if key(is: "kind") {
          types[last].kind = try readName()
        } else if key(is: "name") {
          types[last].name = try readNull() ? nil : readIdentifier()
        } else if key(is: "ofType") {
          guard try !readNull() else { continue }
          try beginObject()
          types.append(TypeMembers())
        } else {
          try skipValue()
        }
        continue
      }
      let type = types.removeLast()
      let text =
        switch type.kind {
        case "LIST": "[" + (try require(type.inner, "ofType")) + "]"
        case "NON_NULL": try Self.nonNull(require(type.inner, "ofType"))
        default: try require(type.name, "name")
        }
      guard last > 0 else { return text }
      types[last - 1].inner = text
    }
    return ""
  }
}

extension JSONReader {
  /// Some servers wrap what is non-null once more.
  private static func nonNull(_ type: String) -> String { type.hasSuffix("!") ? type : type + "!" }
}

/// What is known of a type that is being read.
private struct TypeMembers {
  var kind = ""
  var name: String?
  /// The type that it wraps, as it is written.
  var inner: String?
}

private func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
    true
  default: false
  }
}
