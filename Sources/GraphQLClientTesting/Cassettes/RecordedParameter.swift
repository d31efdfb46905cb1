import GraphQLClient
import HTTPClientCore
import StrictJSON
import SystemBase

/// A pair of a query or a form, decoded.
struct RecordedParameter: Hashable, Sendable {
  enum Value: Hashable, Sendable {
    case text(String)
    /// An object or array, such as the variables of a GraphQL request by `GET`.
    case json(RecordedJSON)
  }

  let name: String
  let value: Value

  /// The pairs of a text such as `a=1&b=x%20y`.
  static func all(in text: some StringProtocol) -> [RecordedParameter] {
    text.split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      let value = decoded(pair.dropFirst(name.count + 1))
      let json = value.first.map { $0 == "{" || $0 == "[" } ?? false ? RecordedJSON(value)?.sorted : nil
      return RecordedParameter(name: decoded(name), value: json.map { .json($0) } ?? .text(value))
    }
  }

  private static func decoded(_ text: some StringProtocol) -> String {
    let text = String(text.map { $0 == "+" ? " " : $0 })
    return text.percentDecoded ?? text
  }

  /// The pairs as a form's text.
  static func text(of parameters: [RecordedParameter]) -> String {
    parameters.map { "\($0.name.percentEncoded)=\($0.text.percentEncoded)" }.joined(separator: "&")
  }

  private var text: String {
    switch value {
    case .text(let text): text
    case .json(let json): json.text
    }
  }

  func redacted(by finder: inout SecretFinder) -> RecordedParameter {
    switch value {
    case .text(let text):
      let text = finder.redact(text, under: finder.isSecret(name, isParameter: true) ? name : nil)
      return RecordedParameter(name: name, value: .text(text))
    case .json(let json):
      let name = finder.isSecret(name, isParameter: true) ? name : nil
      return RecordedParameter(name: self.name, value: .json(finder.redact(json, under: name, isDecoded: false)))
    }
  }

  /// Where requested pairs differ from the recorded ones; those of equal names keep their order, others have none.
  static func differences(
    of recorded: [RecordedParameter], from requested: [RecordedParameter], as kind: String
  ) -> [String] {
    Set((recorded + requested).map(\.name)).sorted().flatMap { name in
      let recorded = recorded.filter { $0.name == name }
      let requested = requested.filter { $0.name == name }
      guard recorded.count == requested.count else {
        return ["\(kind) '\(name)': recorded \(recorded.count) times, requested \(requested.count) times"]
      }
      return zip(recorded, requested).flatMap { pair in
        pair.0.json.differences(from: pair.1.json, at: "\(kind) '\(name)'")
      }
    }
  }

  private var json: RecordedJSON {
    switch value {
    case .text(let text): .string(text)
    case .json(let json): json
    }
  }
}

extension RecordedParameter: JSONDecodable, JSONEncodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    var value: Value?
    try json.beginObject()
    while try json.nextKey() {
      switch json.key {
      case "name": name = try json.readString()
      case "text": value = .text(try json.readLines())
      case "json": value = .json(try json.read())
      default: throw json.mismatch("one of 'name', 'text' and 'json'")
      }
    }
    self.init(name: try json.require(name, "name"), value: try json.require(value, "text"))
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("name", name)
    switch value {
    case .text(let text):
      json.writeKey("text")
      json.writeLines(text)
    case .json(let value): json.write("json", value)
    }
    json.endObject()
  }
}
