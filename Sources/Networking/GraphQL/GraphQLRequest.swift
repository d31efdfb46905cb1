import HTTP
public import JSON

/// The body of a GraphQL request (GraphQL over HTTP, section 5.1).
public struct GraphQLRequest<Variables: Encodable & Sendable>: Encodable, Sendable {
  /// The document.
  public var query: String { document.text }
  /// Which of the document's operations to run.
  public let operationName: String?
  /// The variables.
  public let variables: Variables
  /// Additions to the protocol that the server supports.
  public let extensions: JSONValue?

  let document: GraphQLDocument

  /// Writes all members that have a value.
  public func encode(to encoder: any Encoder) throws {
    // A dictionary, since a key strategy does not convert its keys: they are the specification's.
    var members = ["query": Member(value: document.prepared)]
    members["operationName"] = operationName.map { Member(value: $0) }
    if hasVariables { members["variables"] = Member(value: variables) }
    members["extensions"] = extensions.map { Member(value: $0) }
    var container = encoder.singleValueContainer()
    try container.encode(members)
  }

  private struct Member: Encodable {
    let value: any Encodable

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  private var hasVariables: Bool { Variables.self != NoParameters.self }

  /// The members as pairs for a URL's query, with variables and extensions as JSON (section 5.3).
  func pairs(by encoder: any BodyEncoder) throws -> [(name: String, value: String)] {
    var pairs = [(name: "query", value: query)]
    if let operationName { pairs.append(("operationName", operationName)) }
    if hasVariables {
      pairs.append(("variables", String(decoding: try encoder.encode(variables), as: UTF8.self)))
    }
    if let extensions {
      pairs.append(("extensions", String(decoding: try encoder.encode(extensions), as: UTF8.self)))
    }
    return pairs
  }
}

extension GraphQLRequest: JSONEncodable where Variables: JSONEncodable {
  /// Writes all members that have a value.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("query", document.prepared)
    json.write("operationName", ifPresent: operationName)
    if hasVariables { json.write("variables", variables) }
    json.write("extensions", ifPresent: extensions)
    json.endObject()
  }
}

/// The header fields of all requests, validated once.
enum GraphQLHeaders {
  private static let acceptedTypes: StaticString = "application/graphql-response+json, application/json;q=0.9"
  static let accept = "\(acceptedTypes)"
  /// Of an operation with `@defer` or `@stream`: the forms of multipart responses, the newest first.
  static let incremental =
    "multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824;q=0.9, "
    + "application/graphql-response+json;q=0.8, application/json;q=0.7"
  static let ofGet: HTTPHeaders = ["Accept": acceptedTypes]
  static let ofPost: HTTPHeaders = ["Accept": acceptedTypes, "Content-Type": "application/json"]
}
