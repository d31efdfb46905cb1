import GraphQLLanguage
import GraphQLSchema
import StrictJSON

/// What `graphql.json` says: which files there are, and how the code is to look.
///
///     {
///       "schema": "schema.graphql",
///       "documents": ["Sources/App"],
///       "output": "Sources/App/Generated",
///       "scalars": { "DateTime": { "type": "Date", "module": "Foundation" } }
///     }
///
/// Paths are relative to the file's folder.
public struct ConfigurationFile: Hashable, Sendable {
  /// Where the schema is.
  public enum SchemaLocation: Hashable, Sendable {
    /// In files: SDL or introspection, and extensions.
    case files([String])
    /// At a server, which is asked for it.
    case endpoint(String, headers: [String: String])
  }

  /// Where the schema is; `nil` if the file does not say so.
  public private(set) var schema: SchemaLocation?

  /// The files and folders with operations and fragments.
  public private(set) var documents: [String] = []

  /// The folder for the generated files; `nil` if the file does not say so.
  public private(set) var output: String?

  /// The file for the manifest of trusted documents, if there is to be one.
  public private(set) var manifest: String?

  /// The manifest's format, `apollo` or `relay`; `apollo` by default.
  public private(set) var manifestFormat = "apollo"

  /// How the code is to look.
  public private(set) var generation = GenerationConfiguration()

  /// Where the file has the values of its keys, as `FILE:LINE:COLUMN`.
  package private(set) var places: [String: String] = [:]

  /// The configuration without a file.
  public init() {}

  /// Reads the file.
  /// - Throws: Everything that is wrong with it, with line and column: what is no JSON, keys that it does not have, and
  ///   values that do not fit.
  public init(_ source: GenerationSource) throws(GenerationFailure) {
    var parser = ConfigurationParser(source)
    self = parser.parse()
    if !parser.problems.isEmpty { throw GenerationFailure(problems: parser.problems) }
  }

  /// The keys of the file.
  static let keys = [
    "schema", "documents", "output", "manifest", "manifestFormat", "access", "scalars", "acronyms", "enumCases",
    "deprecated", "minify", "mutable", "equality", "encodable", "nonisolated", "recordSchema",
  ]

  fileprivate mutating func read(
    _ key: String, from json: inout JSONReader, _ parser: inout ConfigurationParser
  ) throws(JSONError) {
    places[key] = try parser.placeOfValue(&json)
    switch key {
    case "schema": schema = try parser.schema(&json)
    case "documents": documents = try parser.strings(&json)
    case "output": output = try parser.path(&json, of: key, instead: "write \".\" for this folder")
    case "manifest": manifest = try parser.path(&json, of: key, instead: "name a file, or leave the key out")
    case "manifestFormat":
      let format = try parser.word(&json, ["apollo", "relay"])
      manifestFormat = format ?? manifestFormat
    case "access":
      let access = try parser.word(&json, GenerationConfiguration.AccessLevel.allCases.map(\.rawValue))
      generation.access = access.flatMap(GenerationConfiguration.AccessLevel.init) ?? generation.access
    case "scalars": generation.scalars = try parser.scalars(&json)
    case "acronyms": generation.acronyms = try parser.strings(&json)
    case "enumCases":
      let style = try parser.word(&json, GenerationConfiguration.CaseStyle.allCases.map(\.rawValue))
      generation.enumCases = style.flatMap(GenerationConfiguration.CaseStyle.init) ?? generation.enumCases
    case "deprecated": generation.includesDeprecated = try json.readBool()
    case "minify": generation.minifiesDocuments = try json.readBool()
    case "mutable": generation.isMutable = try json.readBool()
    case "equality":
      let equality = try parser.word(&json, GenerationConfiguration.Equality.allCases.map(\.rawValue))
      generation.equality = equality.flatMap(GenerationConfiguration.Equality.init) ?? generation.equality
    case "encodable": generation.isEncodable = try json.readBool()
    case "nonisolated": generation.isNonisolated = try json.readBool()
    default: generation.recordSchema = try parser.name(&json)
    }
  }
}

/// Reads the file, and finds the places of what is wrong.
private struct ConfigurationParser {
  private let source: GenerationSource
  var problems: [GenerationProblem] = []

  init(_ source: GenerationSource) {
    self.source = source
  }

  mutating func parse() -> ConfigurationFile {
    var file = ConfigurationFile()
    var parser = self
    do throws(JSONError) {
      try JSONReader.reading(source.bytes.span.bytes) { (json: inout JSONReader) throws(JSONError) in
        try parser.object(&json, keys: ConfigurationFile.keys) {
          (key: String, json: inout JSONReader, parser: inout ConfigurationParser) throws(JSONError) in
          try file.read(key, from: &json, &parser)
        }
      }
    } catch {
      parser.report(error.reason + (error.path.isEmpty ? "" : " at \"\(error.pathText)\""), at: error.offset)
    }
    self = parser
    return file
  }

  private mutating func report(_ message: String, at offset: Int) {
    problems.append(GenerationProblem(message, in: source.name, at: location(of: offset)))
  }

  private func location(of offset: Int) -> SourceLocation {
    let before = source.bytes.prefix(offset)
    let line = before.count { $0 == UInt8(ascii: "\n") }
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return SourceLocation(line: line + 1, column: String(decoding: before[start...], as: UTF8.self).utf16.count + 1)
  }

  /// Reads an object with known keys.
  mutating func object(
    _ json: inout JSONReader, keys: [String],
    _ read: (String, inout JSONReader, inout ConfigurationParser) throws(JSONError) -> Void
  ) throws(JSONError) {
    try json.beginObject()
    while true {
      let before = json.offset
      guard try json.nextKey() else { return }
      let key = json.key
      if keys.contains(key) {
        try read(key, &json, &self)
      } else {
        let place = source.bytes[before...].firstIndex(of: UInt8(ascii: "\"")) ?? before
        let near = Suggestions.question(Suggestions.nearest(to: key, among: keys))
        report("there is no key \"\(key)\".\(near) The keys are \(keys.joined(separator: ", "))", at: place)
        try json.skipValue()
      }
    }
  }

  /// Where the next value begins, as people read it.
  func placeOfValue(_ json: inout JSONReader) throws(JSONError) -> String {
    "\(source.name):\(location(of: try place(&json)))"
  }

  /// Where the next value begins.
  private func place(_ json: inout JSONReader) throws(JSONError) -> Int {
    _ = try json.nextKind()
    return json.offset
  }

  /// Reads one of several words; `nil` for another one.
  mutating func word(_ json: inout JSONReader, _ words: [String]) throws(JSONError) -> String? {
    let place = try place(&json)
    let word = try json.readString()
    if words.contains(word) { return word }
    report("\"\(word)\" is none of \(words.joined(separator: ", "))", at: place)
    return nil
  }

  /// Reads a path; an empty one, which would lead to the root of the file system, is reported.
  mutating func path(_ json: inout JSONReader, of key: String, instead: String) throws(JSONError) -> String {
    let place = try place(&json)
    let path = try json.readString()
    if path.isEmpty { report("\"\(key)\" is empty: \(instead)", at: place) }
    return path
  }

  /// Reads the name of a constant; `nil` for what cannot be one.
  mutating func name(_ json: inout JSONReader) throws(JSONError) -> String? {
    let place = try place(&json)
    let name = try json.readString()
    if SwiftNames.isConstant(name) { return name }
    report("\"\(name)\" cannot be the name of a constant in Swift", at: place)
    return nil
  }

  /// Reads what stands in code as it is; what cannot stand there is reported.
  mutating func code(
    _ json: inout JSONReader, _ what: String, _ isAllowed: (String) -> Bool
  ) throws(JSONError) -> String {
    let place = try place(&json)
    let text = try json.readString()
    if !isAllowed(text) { report("\"\(text)\" cannot be \(what) in Swift", at: place) }
    return text
  }

  /// Reads a string or a list of strings.
  func strings(_ json: inout JSONReader) throws(JSONError) -> [String] {
    try json.nextKind() == .string ? [json.readString()] : json.read([String].self)
  }

  mutating func schema(_ json: inout JSONReader) throws(JSONError) -> ConfigurationFile.SchemaLocation {
    guard try json.nextKind() == .object else { return .files(try strings(&json)) }
    var (endpoint, headers): (String?, [String: String]) = (nil, [:])
    let place = try place(&json)
    try object(&json, keys: ["endpoint", "headers"]) {
      (key: String, json: inout JSONReader, _: inout ConfigurationParser) throws(JSONError) in
      if key == "endpoint" { endpoint = try json.readString() } else { headers = try json.read() }
    }
    if endpoint == nil { report("\"endpoint\" is missing", at: place) }
    return .endpoint(endpoint ?? "", headers: headers)
  }

  /// Reads the types of scalars: each a name, or an object with the type and its module.
  mutating func scalars(_ json: inout JSONReader) throws(JSONError) -> [String: GenerationConfiguration.Scalar] {
    var scalars: [String: GenerationConfiguration.Scalar] = [:]
    try json.beginObject()
    while try json.nextKey() {
      let name = json.key
      let place = try place(&json)
      var (type, module): (String?, String?) = (nil, nil)
      if try json.nextKind() == .object {
        try object(&json, keys: ["type", "module"]) {
          (key: String, json: inout JSONReader, parser: inout ConfigurationParser) throws(JSONError) in
          if key == "type" {
            type = try parser.code(&json, "a type", SwiftNames.isType)
          } else {
            module = try parser.code(&json, "a module", SwiftNames.isModule)
          }
        }
      } else {
        type = try code(&json, "a type", SwiftNames.isType)
      }
      if type == nil { report("\"type\" is missing", at: place) }
      scalars[name] = GenerationConfiguration.Scalar(type ?? "String", module: module)
    }
    return scalars
  }
}
