import GraphQLSchema
import StrictJSON

/// Makes up values of fields, the same for the same seed and path.
struct ValueGenerator: Sendable {
  let seed: UInt64
  let samples: ScalarSamples
  let nulls: Double
  let lengths: ClosedRange<Int>

  /// A value of a field, completed by what can be made up: all of it if there is none, and the types of objects.
  func complete(_ value: JSONValue?, _ type: TypeReference, _ request: Executor.FieldRequest) -> JSONValue {
    var place = Place(self, request)
    return place.complete(value, type)
  }

  /// A field at a place of the response, with the random numbers of that place.
  private struct Place {
    let owner: ValueGenerator
    let field: Field
    var generator: PathGenerator

    init(_ owner: ValueGenerator, _ request: Executor.FieldRequest) {
      self.owner = owner
      field = request.field
      generator = PathGenerator(seed: owner.seed, path: request.path)
    }

    mutating func complete(_ value: JSONValue?, _ type: TypeReference) -> JSONValue {
      if let value {
        if let item = type.item, case .array(let elements) = value {
          return .array(elements.map { complete($0, item) })
        }
        if case .object(var members) = value, type.named.kind.isAbstract, members["__typename"] == nil {
          members["__typename"] = .string(pickType(type.named, having: members.keys))
          return .object(members)
        }
        return value
      }
      if !type.isNonNull, owner.nulls > 0,
        Double.random(in: 0..<1, using: &generator) < owner.nulls
      {
        return .null
      }
      if let item = type.item {
        return .array((0..<Int.random(in: owner.lengths, using: &generator)).map { _ in complete(nil, item) })
      }
      let named = type.named
      switch named.kind {
      case .object: return .object([:])
      case .interface, .union: return .object(["__typename": .string(pickType(named, having: []))])
      case .enum:
        let usable = named.values.filter { !$0.isDeprecated }
        return (usable.isEmpty ? named.values : usable).randomElement(using: &generator).map { .string($0.name) }
          ?? .null
      default: return scalar(named)
      }
    }

    /// A type that an object with these members can be of.
    private mutating func pickType(_ type: NamedType, having members: some Collection<String>) -> String {
      let possible = type.possibleTypes
      let fitting = possible.filter { type in members.allSatisfy { type.field(named: $0) != nil } }
      return (fitting.isEmpty ? possible : fitting).randomElement(using: &generator)?.name ?? type.name
    }

    private mutating func scalar(_ type: NamedType) -> JSONValue {
      let (samples, kind) = owner.samples.values(of: type, field: field)
      if case .custom = kind, let sample = samples.randomElement(using: &generator) { return sample }
      let number = Int64.random(in: 0..<1_000, using: &generator)
      return switch type.name {
      case "Int": .integer(number)
      case "Float": .number(Double(number) + 0.5)
      case "Boolean": .bool(number % 2 == 0)
      case "ID": .string("\(field.owner.name)-\(number)")
      default: .string("\(field.name) \(number)")
      }
    }
  }
}

/// Random numbers that depend on a seed and a path alone (SplitMix64 after FNV-1a).
private struct PathGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64, path: [JSONError.PathElement]) {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ seed
    func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    for element in path {
      switch element {
      case .key(let key): for byte in key.utf8 { mix(byte) }
      case .index(let index):
        for shift in stride(from: 0, to: 32, by: 8) { mix(UInt8(truncatingIfNeeded: index >> shift)) }
      }
      mix(UInt8(ascii: "/"))
    }
    state = hash
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
