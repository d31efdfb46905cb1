import GraphQLLanguage
public import StrictJSON

/// The query with which a client asks a server for its schema.
///
/// Servers of earlier specifications lack some of its fields, and refuse a query that has them. So a client may first send
/// ``featureQuery``, which every server can respond to, and then the query for what the server has.
public struct IntrospectionQuery: Hashable, Sendable {
  /// The document.
  public let text: String

  /// Asks a server which fields and arguments its introspection has.
  public static let featureQuery = """
    query IntrospectionFeatures {
      schema: __type(name: "__Schema") { fields { name } }
      type: __type(name: "__Type") { fields { name args { name } } }
      field: __type(name: "__Field") { fields { name args { name } } }
      input: __type(name: "__InputValue") { fields { name } }
      directive: __type(name: "__Directive") { fields { name args { name } } }
    }
    """

  /// The query for a server that follows the specification of September 2025.
  public static let standard = IntrospectionQuery { _, name in !name.hasPrefix("on") }

  /// The query for what a server has, by its response to ``featureQuery``.
  public init(features response: JSONValue) {
    let data = response["data"] ?? response
    var known: [String: Set<String>] = [:]
    for type in ["schema", "type", "field", "input", "directive"] {
      for field in data[type]?["fields"]?.arrayValue ?? [] {
        guard let name = field["name"]?.stringValue else { continue }
        known[type, default: []].insert(name)
        for argument in field["args"]?.arrayValue ?? [] {
          if let argument = argument["name"]?.stringValue { known[type, default: []].insert("\(name)(\(argument))") }
        }
      }
    }
    self.init { known[$0]?.contains($1) ?? false }
  }

  private init(has: (_ type: String, _ name: String) -> Bool) {
    func fields(_ type: String, _ names: String...) -> String {
      names.filter { has(type, $0) }.joined(separator: " ")
    }
    func deprecated(_ type: String, _ field: String) -> String {
      has(type, "\(field)(includeDeprecated)") ? "\(field)(includeDeprecated: true)" : field
    }
    let input = "{ ...InputValue }"
    let inputFields = has("type", "inputFields") ? "\(deprecated("type", "inputFields")) \(input)" : ""
    let subscription = has("schema", "subscriptionType") ? "subscriptionType { name }" : ""
    let typeRef = (0..<9).reduce("") { inner, _ in "ofType { kind name \(inner) }" }
    text = """
      query IntrospectionQuery {
        __schema {
          \(fields("schema", "description"))
          queryType { name } mutationType { name } \(subscription)
          types { ...FullType }
          directives {
            name description
            \(fields("directive", "isRepeatable", "locations", "onOperation", "onFragment", "onField"))
            \(deprecated("directive", "args")) \(input)
          }
        }
      }
      fragment FullType on __Type {
        kind name description \(fields("type", "specifiedByURL", "isOneOf"))
        \(deprecated("type", "fields")) {
          name description \(deprecated("field", "args")) \(input) type { ...TypeRef } isDeprecated deprecationReason
        }
        \(inputFields)
        interfaces { ...TypeRef }
        \(deprecated("type", "enumValues")) { name description isDeprecated deprecationReason }
        possibleTypes { ...TypeRef }
      }
      fragment InputValue on __InputValue {
        name description type { ...TypeRef } defaultValue \(fields("input", "isDeprecated", "deprecationReason"))
      }
      fragment TypeRef on __Type { kind name \(typeRef) }
      """
  }
}

extension Schema {
  /// What a server with this schema responds to an introspection query.
  public func introspection() -> ExecutionResult {
    do {
      let document = try DocumentSyntax(parsing: IntrospectionQuery.standard.text)
      return Executor(self) { _ in .null }.execute(document)
    } catch {
      preconditionFailure("the introspection query is not GraphQL: \(error)")
    }
  }
}
