extension JSONReader {
  /// Reads a value whose failure must not fail the rest: one that does not fit is skipped, and the result says why.
  /// Throws only where the text is no JSON.
  @inlinable
  public mutating func readResult<Value: JSONDecodable>(
    _ type: Value.Type = Value.self
  ) throws(JSONError) -> Result<Value, JSONError> {
    _ = peek()
    let first = position
    let outer = depth
    do throws(JSONError) {
      return .success(try Value(from: &self))
    } catch {
      try skip(from: first, depth: outer)
      return .failure(error)
    }
  }

  /// Reads a value, or takes a `null`; one that does not fit is passed over, and the result says why. As
  /// ``readResult(_:)``, for generic code, where a `Result` of many types is looked for by the runtime each time.
  package mutating func read<Value: JSONDecodable>(
    orSkipInto value: inout Value?
  ) throws(JSONError) -> JSONError? {
    value = nil
    guard try !readNull() else { return nil }
    let first = position
    let outer = depth
    do throws(JSONError) {
      value = try Value(from: &self)
      return nil
    } catch {
      try skip(from: first, depth: outer)
      return error
    }
  }

  /// Goes back to a value, and passes it.
  @usableFromInline
  mutating func skip(from first: UnsafePointer<UInt8>, depth outer: Int) throws(JSONError) {
    position = first
    depth = outer
    isFirst = false
    try skipValue()
  }
}
