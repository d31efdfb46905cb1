/// How the Swift of sessions looks: what `graphql.json` says besides files.
public struct GenerationConfiguration: Hashable, Sendable {
  /// Who can use what is generated.
  public enum AccessLevel: String, CaseIterable, Sendable {
    /// Other modules.
    case `public`
    /// Other modules of the package.
    case package
    /// The module.
    case `internal`
  }

  /// How the cases of enums are called.
  public enum CaseStyle: String, CaseIterable, Sendable {
    /// `IN_PROGRESS` is `inProgress`.
    case camelCase
    /// `IN_PROGRESS` stays as it is.
    case asWritten
  }

  /// What of values can be compared.
  public enum Equality: String, CaseIterable, Sendable {
    /// Nothing, which compiles fastest.
    case none
    /// All values are `Equatable`.
    case equatable
    /// All values are `Hashable`.
    case hashable
  }

  /// The Swift type of a scalar. It has to be `Sendable` and `JSONDecodable`, and where it is sent, `JSONEncodable` and
  /// `Encodable`.
  public struct Scalar: Hashable, Sendable {
    /// The type, such as `Date`.
    public let type: String
    /// The module to import for it, if it is none that is imported anyway.
    public let module: String?

    /// Names a type, and its module.
    public init(_ type: String, module: String? = nil) {
      self.type = type
      self.module = module
    }
  }

  /// The Swift types of scalars, by their names in the schema. `Int`, `Float`, `String`, `Boolean` and `ID` need none,
  /// and `Upload` is `GraphQLUpload`.
  public var scalars: [String: Scalar] = [:]

  /// Who can use what is generated; `public` by default.
  public var access = AccessLevel.public

  /// Words that are written in capitals: with `ID`, `userId` becomes `userID`, and `byId` the type `ByID`. None by default.
  public var acronyms: [String] = []

  /// How the cases of enums are called; `camelCase` by default.
  public var enumCases = CaseStyle.camelCase

  /// Whether input fields and enum values that are deprecated are generated, marked so; `true` by default. What a
  /// document selects is generated in any case.
  public var includesDeprecated = true

  /// Whether documents are sent without white space and comments; `false` by default.
  public var minifiesDocuments = false

  /// Whether the members of responses are variables; constants by default.
  public var isMutable = false

  /// What can be compared; nothing by default.
  public var equality = Equality.none

  /// Whether responses and fragments can be written, as the JSON that came: to be kept in a `DiskCache`. They keep a copy
  /// of it. `false` by default, and not together with ``isMutable``.
  public var isEncodable = false

  /// Whether types are `nonisolated`, for modules in which the main actor is the default; `false` by default.
  public var isNonisolated = false

  /// The name of a constant of `RecordSchema`, of the module Stores, with what a `NormalizedStore` has to know of the
  /// schema; `nil`, the default, for none.
  public var recordSchema: String?

  /// The configuration without a file.
  public init() {}

  /// The scalars that need no mapping.
  static let builtInScalars: Set<String> = ["Int", "Float", "String", "Boolean", "ID"]

  /// The Swift type of a scalar that has no type of its own here; `nil` if it needs a mapping.
  func scalar(_ name: String) -> Scalar? {
    scalars[name] ?? (name == "Upload" ? Scalar("GraphQLUpload") : nil)
  }
}
