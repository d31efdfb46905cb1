/// The smaller of two times or durations, either of which may be missing.
func earlier<Value: Comparable>(_ left: Value?, _ right: Value?) -> Value? {
  guard let left, let right else { return left ?? right }
  return min(left, right)
}
