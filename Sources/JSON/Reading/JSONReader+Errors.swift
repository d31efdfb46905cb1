extension JSONReader {
  /// An error for a value of the right kind that a type rejects: `throw json.invalid("a date")`.
  ///
  /// Its place is the reader's position: after a value has been read, that is behind the value, and its path is the
  /// value's.
  public mutating func invalid(_ expected: String) -> JSONError {
    JSONError(.invalid, path: path(to: offset, isBehindValue: true), offset: offset, expected: expected)
  }

  /// An error for a value of another kind than the type reads: `throw json.mismatch("a string or a number")`.
  ///
  /// Its place is the next value, which must not have been read yet.
  @inline(never)
  public mutating func mismatch(_ expected: String) -> JSONError {
    guard let found = kindOfWholeWord() else { return malformed(expected) }
    return error(.mismatch(found), expected)
  }

  /// The kind of the next value by its first byte; `nil` if that begins no value, or if only a part of a word is there.
  private func kindOfWholeWord() -> Kind? {
    var copy = JSONReader(start: position, count: end - position)
    guard let kind = try? copy.nextKind() else { return nil }
    switch kind {
    case .boolean: return copy.take("true") || copy.take("false") ? kind : nil
    case .null: return copy.take("null") ? kind : nil
    default: return kind
    }
  }

  @usableFromInline @inline(never)
  mutating func malformed(_ expected: String) -> JSONError {
    error(.malformed, expected)
  }

  @usableFromInline @inline(never)
  mutating func tooDeep() -> JSONError {
    error(.tooDeep, "less depth")
  }

  @usableFromInline @inline(never)
  mutating func outOfRange(_ expected: String) -> JSONError {
    error(.outOfRange, expected)
  }

  /// An error for an object that lacks a required key: `throw json.missing("id")`.
  ///
  /// Its place is the object's end; the reader must be directly behind it.
  @inline(never)
  public mutating func missing(_ key: String) -> JSONError {
    let offset = max(offset - 1, 0)
    return JSONError(
      .missing(key: key), path: path(to: offset) + [.key(key)], offset: offset, expected: "a value")
  }

  private mutating func error(_ kind: JSONError.Kind, _ expected: String) -> JSONError {
    JSONError(kind, path: path(to: offset), offset: offset, expected: expected)
  }

  private mutating func path(to offset: Int, isBehindValue: Bool = false) -> [JSONError.PathElement] {
    let search = search ?? JSONPath(of: UnsafeBufferPointer(start: start, count: end - start))
    self.search = search
    return search.path(to: offset, isBehindValue: isBehindValue)
  }
}
