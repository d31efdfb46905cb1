extension DecodingError {
  /// Converts a reader's error.
  init(_ error: JSONError, type: Any.Type) {
    var path = error.codingPath
    let missing = path.last
    if case .missing = error.kind { _ = path.popLast() }
    let context = Context(codingPath: path, debugDescription: error.description, underlyingError: error)
    self =
      switch error.kind {
      case .missing(let key): .keyNotFound(missing ?? JSONKey(stringValue: key), context)
      case .mismatch(.null): .valueNotFound(type, context)
      case .mismatch: .typeMismatch(type, context)
      case .malformed, .tooDeep, .outOfRange, .invalid: .dataCorrupted(context)
      }
  }
}

extension EncodingError {
  /// Converts a writer's error.
  init(_ error: JSONError, value: Any, inside path: [any CodingKey] = []) {
    let context = Context(
      codingPath: path + error.codingPath, debugDescription: "Cannot be written: \(error.reason).",
      underlyingError: error)
    self = .invalidValue(value, context)
  }
}

extension JSONError {
  /// This error of a nested value as an error of the whole text. `outer` is the path to that value, `start` its offset.
  func inside(_ outer: [any CodingKey], from start: Int) -> JSONError {
    let steps = outer.map { $0.intValue.map(PathElement.index) ?? .key($0.stringValue.asPathKey) }
    return JSONError(kind, path: steps + path, offset: start + offset, expected: expected)
  }

  fileprivate var codingPath: [any CodingKey] {
    path.map {
      switch $0 {
      case .key(let key): JSONKey(stringValue: key)
      case .index(let index): JSONKey(intValue: index)
      }
    }
  }
}
