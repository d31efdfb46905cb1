import GraphQLSchema
public import StrictJSON

/// The values of scalars in the responses that are made up: those of a schema's own scalars, and of fields whose texts
/// have a form that the schema does not tell.
///
///     ScalarSamples(["DateTime": ["2026-11-23T11:25:42Z"], "User.avatar": ["https://example.com/wei.png"]])
public struct ScalarSamples: Sendable, ExpressibleByDictionaryLiteral {
  private let values: [String: [JSONValue]]

  /// A value that no enum has.
  static let futureValue = "VALUE_FROM_THE_FUTURE"

  /// Takes the values of scalars by the scalar's name, or by a field's coordinate, which counts more. Each is tried; the
  /// first is the usual one.
  public init(_ values: [String: [JSONValue]] = [:]) {
    self.values = values.filter { !$0.value.isEmpty }
  }

  /// Takes the values of scalars by the scalar's name, or by a field's coordinate.
  public init(dictionaryLiteral elements: (String, [JSONValue])...) {
    self.init(Dictionary(elements) { $1 })
  }

  /// What is known of a scalar of the schema's own: its values, and whether they were passed, not guessed by its name.
  func forms(of type: NamedType) -> (values: [JSONValue], isPassed: Bool)? {
    if type.isBuiltIn { return nil }
    return values[type.name].map { ($0, true) } ?? Self.usual[type.name].map { ($0, false) }
  }

  /// The values for a field of a scalar type.
  func values(of type: NamedType, field: Field?) -> ([JSONValue], ResponseNode.Leaf.Kind) {
    if let field {
      let coordinates = [field.coordinate] + field.owner.interfaces.map { "\($0.name).\(field.name)" }
      if let values = coordinates.lazy.compactMap({ self.values[$0] }).first { return (values, .custom) }
    }
    if let values = values[type.name] { return (values, type.isBuiltIn ? .scalar : .custom) }
    if let values = Self.builtIn[type.name] { return (values, .scalar) }
    if let values = Self.usual[type.name] { return (values, .custom) }
    return ([.string("text")], .unknown)
  }

  private static let builtIn: [String: [JSONValue]] = [
    "String": ["text", ""], "ID": ["1", "VXNlcjox"], "Boolean": [true, false],
    "Int": [1, 2_147_483_647, -2_147_483_648],
    "Float": [1.5, 1, .number(.greatestFiniteMagnitude), .number(-.greatestFiniteMagnitude)],
  ]

  /// Scalars that many schemas have, in the form that most of them use.
  private static let usual: [String: [JSONValue]] = [
    "DateTime": ["2026-11-23T11:25:42Z"], "Timestamp": ["2026-11-23T11:25:42Z"], "Date": ["2026-11-23"],
    "Time": ["11:25:42"], "URL": ["https://example.com/"], "URI": ["https://example.com/"],
    "UUID": ["3f333df6-90a4-4fda-8dd3-9485d27cee36", "0b2f1c4e-6d1a-4c7b-9a53-1f0d2e4b8a67"],
    "JSON": [["key": "value"]], "JSONObject": [["key": "value"]],
  ]

  /// What a scalar of which nothing is known may be.
  static let guesses: [JSONValue] = [
    "text", 1, 1.5, true, ["key": "value"], ["text"], "2026-11-23T11:25:42Z", "2026-11-23",
  ]
}
