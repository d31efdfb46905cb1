public import GraphQLLanguage
public import StrictJSON

/// The result of an execution: a response (section 7).
public struct ExecutionResult: Hashable, Sendable {
  /// The data; `nil` if the execution did not begin.
  public let data: ResponseValue?
  /// The errors, in the order in which they came up.
  public let errors: [ExecutionError]

  /// Makes a result.
  public init(data: ResponseValue?, errors: [ExecutionError]) {
    self.data = data
    self.errors = errors
  }
}

/// A value in a response. Unlike in a `JSONValue`, the fields of an object have an order: that of the document.
public indirect enum ResponseValue: Hashable, Sendable {
  /// The value of a leaf, or null.
  case leaf(JSONValue)
  /// A list.
  case list([ResponseValue])
  /// An object.
  case object([ResponseField])

  /// The value without the order of fields.
  public var json: JSONValue {
    switch self {
    case .leaf(let value): value
    case .list(let elements): .array(elements.map(\.json))
    case .object(let fields): .object(Dictionary(fields.map { ($0.name, $0.value.json) }) { $1 })
    }
  }
}

/// A field of an object in a response.
public struct ResponseField: Hashable, Sendable {
  /// The name in the response.
  public let name: String
  /// The value.
  public let value: ResponseValue

  /// Makes a field.
  public init(name: String, value: ResponseValue) {
    self.name = name
    self.value = value
  }
}

/// An error of a response (section 7.1.2).
public struct ExecutionError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public let message: String
  /// The places in the document.
  public let locations: [SourceLocation]
  /// The place in the response; empty if the error is not about a field.
  public let path: [JSONError.PathElement]
  /// What else there is to say.
  public let extensions: [String: JSONValue]

  /// Makes an error.
  public init(
    message: String, locations: [SourceLocation] = [], path: [JSONError.PathElement] = [],
    extensions: [String: JSONValue] = [:]
  ) {
    self.message = message
    self.locations = locations
    self.path = path
    self.extensions = extensions
  }

  /// The path in the response, if the error is about a field, and the message.
  public var description: String {
    let place = path.map { element in
      switch element {
      case .key(let key): key
      case .index(let index): "\(index)"
      }
    }
    return place.isEmpty ? message : "\(place.joined(separator: ".")): \(message)"
  }
}

extension ExecutionResult: CustomStringConvertible {
  /// The response as JSON.
  public var description: String { (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "\(errors)" }
}

extension ResponseValue: CustomStringConvertible {
  /// The value as JSON, with the fields of objects in order.
  public var description: String { (try? json()).map { String(decoding: $0, as: UTF8.self) } ?? "\(json)" }
}

extension ExecutionResult: JSONEncodable {
  /// Writes the response: the errors, if there are some, and the data.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    if !errors.isEmpty { json.write("errors", errors) }
    json.write("data", ifPresent: data)
    json.endObject()
  }
}

extension ResponseValue: JSONEncodable {
  /// Writes the value, with the fields of objects in order.
  public func encode(to json: inout JSONWriter) {
    switch self {
    case .leaf(let value): json.write(value)
    case .list(let elements): json.write(elements)
    case .object(let fields):
      json.beginObject()
      for field in fields {
        json.writeKey(field.name)
        json.write(field.value)
      }
      json.endObject()
    }
  }
}

extension ExecutionError: JSONEncodable {
  /// Writes the error.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("message", message)
    if !locations.isEmpty {
      json.write(
        "locations",
        JSONValue.array(
          locations.map { ["line": .integer(Int64($0.line)), "column": .integer(Int64($0.column))] }))
    }
    if !path.isEmpty {
      json.writeKey("path")
      json.beginArray()
      for element in path {
        switch element {
        case .key(let key): json.write(key)
        case .index(let index): json.write(index)
        }
      }
      json.endArray()
    }
    if !extensions.isEmpty { json.write("extensions", JSONValue.object(extensions)) }
    json.endObject()
  }
}
