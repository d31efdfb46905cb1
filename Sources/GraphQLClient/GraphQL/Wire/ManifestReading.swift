public import GraphQLValues
public import HTTPClientCore
import StrictJSON
public import SystemBase

extension GraphQLManifest {
  /// Makes the manifest of documents, whose ids are their hashes; a document that occurs twice counts once.
  ///
  /// Throws `invalidRequest` for a text that is not GraphQL, or has no operation.
  public init(_ documents: [GraphQLDocument]) throws(RequestError) {
    var operations: [Operation] = []
    for document in documents {
      let first = try document.firstOperation
      operations.append(
        Operation(id: document.sha256, name: first.name ?? "", type: first.kind.rawValue, body: document.text))
    }
    self.init(operations: operations)
  }

  /// Reads a manifest's file, in either format.
  ///
  /// Throws `undecodable` if it is neither, with the place, and if a document has two ids, or an id two documents: then
  /// a client and a server could differ in what an id means.
  public init(json: Data) throws(RequestError) {
    let operations: [Operation]
    do throws(JSONError) {
      operations = try Contents(json: json.bytes).operations
    } catch {
      throw RequestError(.undecodable, "This is no manifest of operations: \(error)")
    }
    var (ids, bodies): ([String: String], [String: String]) = ([:], [:])
    for operation in operations {
      if let id = ids.updateValue(operation.id, forKey: operation.body), id != operation.id {
        throw Self.ambiguous("one document has the ids \(Self.shown(id)) and \(Self.shown(operation.id))")
      }
      if let body = bodies.updateValue(operation.body, forKey: operation.id), body != operation.body {
        throw Self.ambiguous("the id \(Self.shown(operation.id)) stands for two documents")
      }
    }
    self.init(operations: operations)
  }

  private static func ambiguous(_ what: String) -> RequestError {
    RequestError(.undecodable, "This manifest is ambiguous: \(what). Each document needs one id of its own.")
  }

  private static func shown(_ id: String) -> String { "'\(id.sanitized(upTo: 100))'" }

  /// The id of a document; `nil` if it is not in the manifest.
  public func id(of document: GraphQLDocument) -> String? { id(ofText: document.text) }

  /// The operations of a file in either format.
  private struct Contents: JSONDecodable {
    var operations: [Operation] = []

    init(from json: inout JSONReader) throws(JSONError) {
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        switch try json.nextKind() {
        case .array where key == "operations":
          try json.beginArray()
          while try json.nextElement() { operations.append(try Self.operation(from: &json)) }
        case .string where key != "format":
          operations.append(Operation(id: key, name: "", type: "", body: try json.readString()))
        default: try json.skipValue()
        }
      }
    }

    private static func operation(from json: inout JSONReader) throws(JSONError) -> Operation {
      var members: [String: String] = [:]
      try json.beginObject()
      while try json.nextKey() {
        let key = json.key
        if try json.nextKind() == .string { members[key] = try json.readString() } else { try json.skipValue() }
      }
      guard let id = members["id"] else { throw json.missing("id") }
      guard let body = members["body"] else { throw json.missing("body") }
      return Operation(id: id, name: members["name"] ?? "", type: members["type"] ?? "", body: body)
    }
  }
}
