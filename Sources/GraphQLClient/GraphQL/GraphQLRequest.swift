import HTTPClientCore
public import StrictJSON
import SystemBase

/// The members of a GraphQL request (GraphQL over HTTP, section 5.1).
public struct GraphQLRequest<Variables: Encodable & Sendable>: Encodable, Sendable {
  /// The document.
  public var query: String { document.text }
  /// Which of the document's operations to run.
  public let operationName: String?
  /// The variables.
  public let variables: Variables
  /// Additions to the protocol that the server supports.
  public let extensions: JSONValue?

  var document: GraphQLDocument

  /// What stands for the document.
  var sentDocument = SentDocument.text(withHash: false)

  /// Writes all members that have a value.
  public func encode(to encoder: any Encoder) throws {
    // A dictionary, since a key strategy does not convert its keys: they are the specification's.
    var members: [String: Member] = [:]
    if sendsText { members["query"] = Member(value: document.prepared) }
    if let id { members[id.name] = Member(value: id.value) }
    members["operationName"] = operationName.map { Member(value: $0) }
    if hasVariables { members["variables"] = Member(value: variables) }
    members["extensions"] = sentExtensions.map { Member(value: $0) }
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

  private var sendsText: Bool { if case .text = sentDocument { true } else { false } }

  /// The member that holds the document's id.
  private var id: (name: String, value: String)? {
    guard case .id(let id, let shape) = sentDocument else { return nil }
    switch shape.kind {
    case .documentID: return ("documentId", id)
    case .parameter(let name): return (name, id)
    case .apollo: return nil
    }
  }

  /// The session's extensions, and the document's hash where it stands there.
  private var sentExtensions: JSONValue? {
    let hash: String
    switch sentDocument {
    case .text(withHash: false): return extensions
    case .text(withHash: true), .hash: hash = document.sha256
    case .id(let id, let shape):
      guard case .apollo = shape.kind else { return extensions }
      hash = id
    }
    var members: [String: JSONValue] = [:]
    if case .object(let own)? = extensions { members = own }
    members["persistedQuery"] = ["version": 1, "sha256Hash": .string(hash)]
    return .object(members)
  }

  /// Whether the server has to know the document.
  var isHashAlone: Bool { if case .hash = sentDocument { true } else { false } }

  /// The target of a `GET`; `nil` if its URL would be longer than the limit, in bytes, and, with `orNone`, if there are
  /// files, which only a `POST` can carry.
  func target(
    below endpoint: HTTPTarget, upTo limit: Int, by encoder: any BodyEncoder, orNone: Bool
  ) throws -> HTTPTarget? {
    do {
      let target = try endpoint.adding(query: pairs(by: encoder))
      return target.length <= limit ? target : nil
    } catch  where orNone && error.isAboutUpload {
      return nil
    }
  }

  /// The members as pairs for a URL's query, with variables and extensions as JSON (section 5.3), and always in the same
  /// order, so that caches find the same request.
  func pairs(by encoder: any BodyEncoder) throws -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    if sendsText { pairs.append(("query", query)) }
    if let id { pairs.append(id) }
    if let operationName { pairs.append(("operationName", operationName)) }
    if hasVariables {
      pairs.append(("variables", String(decoding: try encoder.encode(variables), as: UTF8.self)))
    }
    if isHashAlone, extensions == nil {
      pairs.append(("extensions", document.hashExtensions))
    } else if let extensions = sentExtensions {
      pairs.append(("extensions", String(decoding: try extensions.json(), as: UTF8.self)))
    }
    return pairs
  }
}

extension GraphQLRequest: JSONEncodable where Variables: JSONEncodable {
  /// Writes all members that have a value.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    if sendsText { json.write("query", document.prepared) }
    if let id {
      json.writeKey(id.name)
      json.write(id.value)
    }
    json.write("operationName", ifPresent: operationName)
    if hasVariables { json.write("variables", variables) }
    json.write("extensions", ifPresent: sentExtensions)
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
  static let ofGet: HTTPHeaders = preflight.adding(defaults: ["Accept": acceptedTypes])
  static let ofPost: HTTPHeaders = ["Accept": acceptedTypes, "Content-Type": "application/json"]

  /// Of these servers require one, where a browser would ask nobody before it lets a foreign page send the request.
  static let preflight: HTTPHeaders = [
    "Apollo-Require-Preflight": "true", "GraphQL-Require-Preflight": "1", "X-GraphQL-Yoga-CSRF": "1",
  ]
}

extension GraphQLRequest: Equatable where Variables: Equatable {}

extension GraphQLRequest: Hashable where Variables: Hashable {}

extension GraphQLRequest: CustomStringConvertible {
  /// The operation's name and the document; not the variables, which may be secret.
  public var description: String { (operationName.map { "\($0): " } ?? "") + query }
}
