extension TapeDecoder {
  /// The path to a value, as errors report it, with only the start of each key: many errors are caught, so they must be
  /// cheap.
  func path(to step: Step?) -> [any CodingKey] {
    path(to: step) { JSONPath.key(document.bytes(of: $0)) }
  }

  func context(_ description: String, step: Step?) -> DecodingError.Context {
    DecodingError.Context(codingPath: path(to: step), debugDescription: description)
  }

  /// The error for a value of another kind.
  func mismatch(_ type: Any.Type, _ expected: String, at place: Int, step: Step?) -> DecodingError {
    let token = document.tape[place]
    let error = JSONError(.mismatch(token.kind.asRead), path: [], offset: 0, expected: expected)
    return DecodingError(error.inside(path(to: step), from: token.start), type: type)
  }

  /// The error for a missing member.
  func missing(_ key: JSONKey) -> DecodingError {
    .keyNotFound(key, context("The member '\(key.stringValue)' is missing.", step: nil))
  }

  /// The error for a value of the right kind that its type rejects.
  func corrupted(_ kind: JSONError.Kind, _ expected: String, at place: Int, step: Step?) -> DecodingError {
    let error = JSONError(kind, path: [], offset: 0, expected: expected)
    return DecodingError(error.inside(path(to: step), from: document.tape[place].start), type: Any.self)
  }
}
