import GraphQLLanguage
import StrictJSON
import Testing

@testable import Stores

/// A cache with the plans of its documents, which are rewritten first.
struct TestCache {
  var cache: RecordCache
  private var plans: [String: PreparedPlan] = [:]

  init(_ change: (inout RecordSchema) -> Void = { _ in }) {
    var schema = RecordSchema()
    schema.addsKeyToUnknownTypes = true
    change(&schema)
    cache = RecordCache(schema)
  }

  func plan(
    _ document: String, fragment: String? = nil, variables: [String: JSONValue] = [:]
  ) throws -> PreparedPlan {
    let syntax = try DocumentSyntax(parsing: try cache.schema.addingKeys(to: document))
    let plan =
      if let fragment {
        try RecordPlan(syntax, fragment: fragment, schema: cache.schema)
      } else {
        try RecordPlan(syntax, schema: cache.schema)
      }
    return PreparedPlan(plan, variables: variables)
  }

  /// Writes, and returns the changed fields as `Type:key.field`, sorted.
  @discardableResult
  mutating func write(
    _ document: String, _ json: String, _ variables: [String: JSONValue] = [:], errors: [RecordErrorPath] = [],
    fragment: String? = nil, at entity: RecordID? = nil, in layer: UInt64? = nil
  ) throws -> [String] {
    var plan = try plan(document, fragment: fragment, variables: variables)
    let raw = Array(json.utf8)
    let changes = try cache.write(raw.span.bytes, of: &plan, at: entity, errors: errors, in: layer)
    return names(changes)
  }

  mutating func read(
    _ document: String, _ variables: [String: JSONValue] = [:], fragment: String? = nil, at entity: RecordID? = nil,
    isPartial: Bool = false
  ) throws -> RecordResult {
    var plan = try plan(document, fragment: fragment, variables: variables)
    return try cache.read(&plan, at: entity, isPartial: isPartial)
  }

  /// What a read gives: the JSON, or the path of what is missing.
  mutating func text(
    _ document: String, _ variables: [String: JSONValue] = [:], fragment: String? = nil, at entity: RecordID? = nil
  ) throws -> String {
    let result = try read(document, variables, fragment: fragment, at: entity)
    if let json = result.json { return json.description }
    return "missing " + result.missing[0].map(\.description).joined(separator: ".")
  }

  func names(_ changes: [RecordChange]) -> [String] {
    changes.map { "\(cache.name(of: $0.entity)).\(cache.fieldKeys[Int($0.field)])" }.sorted()
  }
}

extension RecordCache {
  /// Writes a copy of a response.
  mutating func write(
    _ data: RawSpan, of plan: inout PreparedPlan, at entity: RecordID? = nil, errors: [RecordErrorPath] = [],
    in layer: UInt64? = nil
  ) throws(RecordError) -> [RecordChange] {
    try write(PaddedBytes(data), of: &plan, at: entity, errors: errors, in: layer)
  }
}

extension RecordResult {
  var text: String? { json?.description }
  var missingPaths: [String] { missing.map { $0.map(\.description).joined(separator: ".") } }
}

/// The check of the JSON reader.
enum JSONChecking {
  static func check(_ json: [UInt8]) throws(JSONError) {
    try JSONReader.reading(json.span.bytes) { json throws(JSONError) in try json.skipValue() }
  }
}
