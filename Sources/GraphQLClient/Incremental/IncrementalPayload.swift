import GraphQLValues
import HTTPClientCore
import StrictJSON

/// One payload of a response that arrives in parts, in any of the forms that servers send: that of the GraphQL
/// specification's draft (`pending`, `incremental`, `completed`), that of 2022 (`incremental` with paths), that of 2020
/// (one part, with its path at the top), and mixtures of them. A whole response is one, too.
struct IncrementalPayload: JSONDecodable {
  typealias Path = [GraphQLError.PathElement]

  /// What a server announces.
  struct Pending: JSONDecodable {
    var id = ""
    var path: Path = []
    var label: String?
  }

  /// The data of a deferred fragment, or the items of a list.
  struct Part: JSONDecodable {
    var id: String?
    var path: Path?
    var subPath: Path = []
    var label: String?
    /// `null` is a value.
    var data: JSONValue?
    /// `null` is a value.
    var items: JSONValue?
    var errors: [GraphQLError] = []
    var extensions: JSONValue?
  }

  /// The end of what was announced; with errors, of what failed.
  struct Completed: JSONDecodable {
    var id = ""
    var errors: [GraphQLError]?
  }

  /// The members at the top that a part has, too.
  var top = Part()
  var pending: [Pending] = []
  var incremental: [Part] = []
  var completed: [Completed] = []
  /// `nil` if the server does not say.
  var hasNext: Bool?
  /// Whether it is an empty object, by which some servers keep a connection alive.
  private(set) var isHeartbeat = true

  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() {
      isHeartbeat = false
      if json.key(is: "hasNext") {
        hasNext = try json.read()
      } else if json.key(is: "pending") {
        pending = try json.read() ?? []
      } else if json.key(is: "incremental") {
        incremental = try json.read() ?? []
      } else if json.key(is: "completed") {
        completed = try json.read() ?? []
      } else {
        try top.readMember(from: &json)
      }
    }
  }
}

extension IncrementalPayload.Pending {
  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readID()
      } else if json.key(is: "path") {
        path = try json.read()
      } else if json.key(is: "label") {
        label = try json.readNull() ? nil : json.readName()
      } else {
        try json.skipValue()
      }
    }
  }
}

extension IncrementalPayload.Part {
  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() { try readMember(from: &json) }
  }

  fileprivate mutating func readMember(from json: inout JSONReader) throws(JSONError) {
    if json.key(is: "data") {
      data = try json.read(JSONValue.self)
    } else if json.key(is: "items") {
      items = try json.read(JSONValue.self)
    } else if json.key(is: "errors") {
      errors = try json.read(FirstErrors?.self)?.errors ?? []
    } else if json.key(is: "extensions") {
      extensions = try json.skipValue(over: 256 << 10) ? nil : try json.read()
    } else if json.key(is: "id") {
      id = try json.readNull() ? nil : json.readID()
    } else if json.key(is: "path") {
      path = try json.read()
    } else if json.key(is: "subPath") {
      subPath = try json.read() ?? []
    } else if json.key(is: "label") {
      label = try json.readNull() ? nil : json.readName()
    } else {
      try json.skipValue()
    }
  }
}

extension IncrementalPayload.Completed {
  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readID()
      } else if json.key(is: "errors") {
        errors = try json.read(FirstErrors?.self)?.errors
      } else {
        try json.skipValue()
      }
    }
  }
}
