extension JSONReader {
  /// Reads a value on which the rest of the text does not depend: one that does not fit is passed over, and the result
  /// says why. Throws only where the text is no JSON.
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
      position = first
      depth = outer
      isFirst = false
      try skipValue()
      return .failure(error)
    }
  }
}
