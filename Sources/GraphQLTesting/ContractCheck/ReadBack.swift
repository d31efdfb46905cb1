import GraphQLClient

/// Finds values that a cache cannot give back: those of types that are `Codable`, of which what one encodes cannot be
/// decoded, or is another value.
///
/// The compiler does not see it: a type with a reader of its own, for the shape that the server sends, and a synthesized
/// writer, for the shape that the type has, is `Codable`. On disk, it is a miss each time.
struct ReadBack {
  let encoder: any BodyEncoder
  let decoder: any BodyDecoder

  /// How deep properties are looked at.
  private static var depth: Int { 32 }

  /// What is wrong with a value, or with the first one in each of its properties that is `Codable`.
  func problems(in value: Any, at path: String = "data", depth: Int = Self.depth) -> [Recording.Problem] {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .struct, .class, .enum:
      if let value = value as? any Codable { return problem(of: value, at: path).map { [$0] } ?? [] }
    case nil: return []
    default: break
    }
    guard depth > 0 else { return [] }
    return mirror.children.flatMap { child in
      let label = mirror.displayStyle == .optional ? "" : child.label.map { ".\($0)" } ?? "[]"
      return problems(in: child.value, at: path + label, depth: depth - 1)
    }
  }

  private func problem<Value: Codable>(of value: Value, at path: String) -> Recording.Problem? {
    let reason: String
    do {
      let copy = try decoder.decode(Value.self, from: try encoder.encode(value))
      guard let value = value as? any Equatable, !value.isEqual(to: copy) else { return nil }
      reason = "it becomes another value"
    } catch {
      reason = "\(DecodingFailure(error))"
    }
    var problem = Recording.Problem(
      path, "read back", "\(Value.self) is Codable, and no cache can read back what it encodes: \(reason)")
    problem.severity = .warning
    problem.isFailure = false
    return problem
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { other as? Self == self }
}
