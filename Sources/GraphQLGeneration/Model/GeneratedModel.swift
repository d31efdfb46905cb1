import GraphQLLanguage
import GraphQLSchema

/// What Swift is generated, without its syntax: every name is settled, and every type.
struct GeneratedModel {
  var operations: [OperationModel] = []
  var fragments: [FragmentModel] = []
  var enums: [EnumModel] = []
  var inputs: [InputModel] = []
  /// The objects that abstract types can be, which fragments ask for; by their names in Swift.
  var typeSets: [(name: String, types: [String])] = []
  /// What a normalised cache has to know, if that is to be generated.
  var recordSchema: RecordSchemaModel?
}

/// An operation: a session.
struct OperationModel {
  enum Delivery {
    case once
    /// With `@defer` or `@stream`.
    case inParts
    case live
  }

  let syntax: OperationSyntax
  let name: String
  let delivery: Delivery
  /// `GetUserSession`; the protocol has `Type` behind it.
  let session: String
  /// `getUser`.
  let function: String
  let variables: InputModel?
  let data: ObjectModel
  /// The fragments that the document needs, by their names in Swift, in the order in which it has them.
  let fragments: [String]
  let documentation: String?
  /// The modules that types of its scalars are from.
  let modules: Set<String>

  /// Whether types of its own are read from JSON or written as JSON.
  var readsOrWritesJSON: Bool {
    if case .own = data { return true }
    return variables.map { !$0.hasUploads } ?? false
  }

  /// Whether files may be sent.
  var hasUploads: Bool { variables?.hasUploads ?? false }
}

/// A named fragment.
struct FragmentModel {
  let syntax: FragmentSyntax
  let object: ObjectModel
  /// The modules that types of its scalars are from.
  let modules: Set<String>
}

/// What a selection is in Swift: a struct of its own, or that of a fragment.
enum ObjectModel {
  case own(StructModel)
  case fragment(String)

  /// The name of the type.
  var type: String {
    switch self {
    case .own(let model): model.name
    case .fragment(let name): name
    }
  }
}

/// A struct that is read.
struct StructModel {
  let name: String
  let documentation: String?
  /// In the order of the selection.
  var properties: [PropertyModel] = []
  var nested: [StructModel] = []
  var kind: KindModel?
}

/// A member of a struct.
struct PropertyModel {
  let name: String
  let type: String
  /// The expression that reads it, of a reader named `json`, to be covered by a `try`.
  let reading: String
  /// What the initialiser takes for it if nothing is given.
  let defaultValue: String?
  let documentation: String?
  let deprecation: String?
  /// What it is stored as, if that is something else: the compiler would warn of the use of what is deprecated in the code
  /// itself.
  var storedName: String?
}

/// The enum of the types that an object of an abstract type is one of.
struct KindModel {
  struct Case {
    let name: String
    /// The type in the schema.
    let type: String
    let payload: ObjectModel
  }

  let name: String
  let cases: [Case]
  /// The case of all other types.
  let other: String
}

/// An enum of the schema.
struct EnumModel {
  struct Case {
    let name: String
    let value: String
    let documentation: String?
    let deprecation: String?
  }

  let name: String
  let documentation: String?
  var cases: [Case] = []
  /// Whether it is sent.
  let isInput: Bool
}

/// An input object, or the variables of an operation.
struct InputModel {
  struct Member {
    let name: String
    /// The name in the schema.
    let key: String
    let type: String
    let defaultValue: String?
    /// Whether `nil` is left out.
    let isLeftOut: Bool
    /// Whether it can hold its own object.
    var isIndirect = false
    let documentation: String?
    let deprecation: String?
    /// What it is stored as, if that is something else.
    var storedName: String?
  }

  let name: String
  let documentation: String?
  var members: [Member]
  let isOneOf: Bool
  /// Whether there may be a file in it, which only its `Encodable` conformance can write.
  var hasUploads = false
  /// Whether it can hold itself.
  var isRecursive = false
  /// The modules that types of its scalars are from.
  var modules: Set<String> = []
}

extension InputModel {
  /// Whether its text names types of GraphQLClient. Types of the schema have none of those names.
  var needsClient: Bool {
    members.contains { member in
      member.isIndirect
        || member.type.split { !$0.isPartOfName }
          .contains { $0.hasPrefix("GraphQL") && SwiftNames.typesInUse.contains(String($0)) }
    }
  }
}
