/// Puts `new` in the place of a value, and gives the old one.
@inlinable
func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
  let old = value
  value = new
  return old
}
