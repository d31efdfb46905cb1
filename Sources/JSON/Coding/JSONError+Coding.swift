extension DecodingError {
  /// The error of a reader as decoders have it.
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
  /// The error of a writer as encoders have it.
  init(_ error: JSONError, value: Any, inside path: [any CodingKey] = []) {
    let context = Context(
      codingPath: path + error.codingPath, debugDescription: "Cannot be written: \(error.reason).",
      underlyingError: error)
    self = .invalidValue(value, context)
  }
}

extension JSONError {
  /// The error of a value that begins at a place of the whole, to which a path leads.
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
