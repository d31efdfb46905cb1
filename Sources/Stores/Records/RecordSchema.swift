/// What a record cache knows of a server's types. All of it comes from outside; nothing is guessed.
package struct RecordSchema: Sendable {
  /// The names of the types that operations begin with.
  package struct Roots: Hashable, Sendable {
    package var query = "Query"
    package var mutation = "Mutation"
    package var subscription = "Subscription"

    package init(query: String = "Query", mutation: String = "Mutation", subscription: String = "Subscription") {
      self.query = query
      self.mutation = mutation
      self.subscription = subscription
    }

    /// Whether a type is one of them: there is one object of it, which needs no key.
    package func contains(_ type: String) -> Bool { type == query || type == mutation || type == subscription }
  }

  package var roots = Roots()

  /// The fields that tell the objects of a type apart, by the name of the type. A type with none is embedded.
  package var keyFields: [String: [String]] = [:]

  /// The key of the other types.
  package var defaultKey = ["id"]

  /// The object types of interfaces and unions. A fragment on a type that is neither in here nor the object's own is a
  /// miss.
  package var possibleTypes: [String: Set<String>] = [:] {
    didSet { objectTypes = possibleTypes.values.reduce(into: []) { $0.formUnion($1) } }
  }

  private var objectTypes: Set<String> = []

  /// The types of fields, by the name of the type that has them; lists count as their elements. It says which selection
  /// sets need the default key, and may know a part of the schema only.
  package var fieldTypes: [String: [String: String]] = [:]

  /// Whether the default key is added to selections on types of which `fieldTypes` says nothing. Only for a server all
  /// of whose types have it.
  package var addsKeyToUnknownTypes = false

  package init() {}

  /// The key of a type; empty for one that is embedded.
  package func key(of type: String) -> [String] { keyFields[type] ?? defaultKey }

  /// The key fields that may be selected on a type, whose name may not be known.
  func selectableKey(of type: String?) -> [String] {
    guard let type else { return addsKeyToUnknownTypes ? defaultKey : [] }
    if roots.contains(type) { return [] }
    if let key = keyFields[type] { return key }
    guard let fields = fieldTypes[type] else { return addsKeyToUnknownTypes ? defaultKey : [] }
    return defaultKey.allSatisfy { fields[$0] != nil } ? defaultKey : []
  }

  /// Whether a fragment on a type applies to objects of another; `nil` if that is not known.
  func matches(_ type: String, condition: String) -> Bool? {
    if type == condition { return true }
    if let types = possibleTypes[condition] { return types.contains(type) }
    // A type with possible types is abstract, and one that is possible is an object type: it matches nothing but
    // itself.
    return objectTypes.contains(condition) ? false : nil
  }
}
