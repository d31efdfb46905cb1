extension JSONReader {
  /// Reads a value whose failure must not fail the rest: a value that does not fit is skipped, and the result says why.
  /// Throws only if the text is not JSON.
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

  /// Reads a value or `null`. A value that does not fit is skipped, and its error returned. Like ``readResult(_:)``,
  /// but for generic code: there, the runtime would look up the type of the `Result` on each call.
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

  /// Goes back to a value, and skips it.
  @usableFromInline
  mutating func skip(from first: UnsafePointer<UInt8>, depth outer: Int) throws(JSONError) {
    position = first
    depth = outer
    isFirst = false
    try skipValue()
  }
}
