import Testing

@testable import Stores

/// Random numbers from a seed.
struct RecordRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

/// A selection of a random document. Names say what a field has: `s…` a scalar, `o…` an object, `l…` a list of objects.
/// A name in the response belongs to one field with its arguments.
indirect enum ModelSelection {
  case field(key: String, text: String, fieldKey: String, name: String, [ModelSelection])
  case fragment(type: String, [ModelSelection])

  static func random(_ random: inout RecordRandom, depth: Int) -> [ModelSelection] {
    var set: [ModelSelection] = depth == 3 ? [plain("s0")] : [plain("__typename"), plain("id")]
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      switch Int.random(in: 0..<(depth == 0 ? 3 : 8), using: &random) {
      case 0: set.append(plain("s\(Int.random(in: 0..<4, using: &random))"))
      case 1: set.append(argumented("s", [], &random))
      case 2: set.append(plain("s9"))
      case 3:
        let type = ["Some", "Any", "T0", "T1", "Mystery"][Int.random(in: 0..<5, using: &random)]
        // The types of the root are not those of the others.
        if depth < 3 { set.append(.fragment(type: type, Self.random(&random, depth: depth - 1))) }
      default:
        let inner = Self.random(&random, depth: depth - 1)
        let name = "\(random.one(in: 2) ? "o" : "l")\(Int.random(in: 0..<2, using: &random))"
        set.append(random.one(in: 3) ? argumented(name, inner, &random) : plain(name, inner))
      }
    }
    return set
  }

  private static func plain(_ name: String, _ inner: [ModelSelection] = []) -> ModelSelection {
    .field(key: name, text: name, fieldKey: name, name: name, inner)
  }

  private static func argumented(
    _ name: String, _ inner: [ModelSelection], _ random: inout RecordRandom
  ) -> ModelSelection {
    let number = Int.random(in: 0..<3, using: &random)
    let alias = "\(name)_\(number)" + (random.one(in: 2) ? "x" : "")
    return .field(
      key: alias, text: "\(alias): \(name)(n: \(number))", fieldKey: "\(name)(n:\(number))", name: name, inner)
  }

  static func text(_ set: [ModelSelection]) -> String {
    let selections = set.map { selection in
      switch selection {
      case .field(_, let text, _, _, let inner): inner.isEmpty ? text : "\(text) \(Self.text(inner))"
      case .fragment(let type, let inner): "... on \(type) \(text(inner))"
      }
    }
    return "{ \(selections.joined(separator: " ")) }"
  }

  struct Group {
    let key: String
    let fieldKey: String
    let name: String
    var sets: [[ModelSelection]]
  }

  /// The fields for an object of a type; whether each fragment's type is known, and what one of which it is not does.
  static func collect(
    _ sets: [[ModelSelection]], type: String, mystery: Bool
  ) -> (groups: [Group], isUndecided: Bool) {
    var groups: [Group] = []
    var isUndecided = false
    func add(_ set: [ModelSelection]) {
      for selection in set {
        switch selection {
        case .field(let key, _, let fieldKey, let name, let inner):
          if let place = groups.firstIndex(where: { $0.key == key }) {
            groups[place].sets.append(inner)
          } else {
            groups.append(Group(key: key, fieldKey: fieldKey, name: name, sets: [inner]))
          }
        case .fragment(let condition, let inner):
          let matches =
            switch condition {
            case "Any": type != "?"
            case "Some": type == "T0" || type == "E"
            case "Mystery": mystery
            default: type == condition
            }
          if condition == "Mystery" || type == "?" { isUndecided = true }
          if matches { add(inner) }
        }
      }
    }
    for set in sets { add(set) }
    return (groups, isUndecided)
  }
}

/// What a server answers.
indirect enum ModelResponse {
  case null(isError: Bool)
  case scalar(String)
  case list([ModelResponse])
  case object(type: String, id: String?, [(key: String, fieldKey: String, ModelResponse)])

  var json: String {
    switch self {
    case .null: "null"
    case .scalar(let text): text
    case .list(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
    case .object(_, _, let fields):
      "{" + fields.map { "\"\($0.key)\":\($0.2.json)" }.joined(separator: ",") + "}"
    }
  }
}

/// A server whose objects change with each response, but not within one, unless it is fickle.
struct ModelServer {
  let seed: UInt64
  var hasErrors: Bool
  /// Whether a scalar of an object may have another value in each place of a response.
  var isFickle = false
  var random: RecordRandom
  var errors: [RecordErrorPath] = []

  init(_ random: inout RecordRandom) {
    seed = random.next()
    hasErrors = random.one(in: 3)
    self.random = RecordRandom(state: random.next())
  }

  private func number(_ path: String, _ salt: UInt64, below limit: Int) -> Int {
    var hash = RecordRandom(state: seed &+ salt)
    for byte in path.utf8 { hash.state = hash.next() &+ UInt64(byte) }
    return Int(hash.next() % UInt64(limit))
  }

  mutating func root(_ set: [ModelSelection]) -> ModelResponse {
    .object(type: "Query", id: nil, fields([set], type: "Query", identity: "Query", id: nil, []))
  }

  private mutating func fields(
    _ sets: [[ModelSelection]], type: String, identity: String, id: String?, _ path: [RecordStep]
  ) -> [(key: String, fieldKey: String, ModelResponse)] {
    let groups = ModelSelection.collect(sets, type: type, mystery: type == "T1").groups
    return groups.compactMap { group in
      if group.name == "__typename" { return (group.key, group.fieldKey, .scalar("\"\(type)\"")) }
      if group.name == "id" {
        return (group.key, group.fieldKey, id.map { .scalar($0) } ?? .null(isError: false))
      }
      if random.one(in: 60) { return nil }
      let path = path + [.key(group.key)]
      let value = value(group, "\(identity).\(group.fieldKey)", path)
      return (group.key, group.fieldKey, value)
    }
  }

  private mutating func value(_ group: ModelSelection.Group, _ identity: String, _ path: [RecordStep]) -> ModelResponse
  {
    if hasErrors, random.one(in: 8) { return error(path) }
    switch group.name.first {
    case "s":
      let place = isFickle ? Int.random(in: 0..<5, using: &random) : number(identity, 1, below: 5)
      return .scalar(["1", "2", "\"x\"", "null", "{\"a\":[1]}"][place])
    case "o": return object(group, identity, path)
    default:
      return .list(
        (0..<number(identity, 2, below: 4)).map { index in
          object(group, "\(identity).\(index)", path + [.index(index)])
        })
    }
  }

  private mutating func object(_ group: ModelSelection.Group, _ identity: String, _ path: [RecordStep]) -> ModelResponse
  {
    if hasErrors, random.one(in: 10) { return error(path) }
    let kind = number(identity, 3, below: 12)
    if kind == 0 { return .null(isError: false) }
    let type = ["T0", "T1", "E"][kind % 3]
    let id = type == "E" || kind == 4 ? nil : String(number(identity, 4, below: 5))
    let inner = id.map { "\(type):\($0)" } ?? identity
    return .object(type: type, id: id, fields(group.sets, type: type, identity: inner, id: id, path))
  }

  private mutating func error(_ path: [RecordStep]) -> ModelResponse {
    errors.append(RecordErrorPath(path))
    return .null(isError: true)
  }
}
