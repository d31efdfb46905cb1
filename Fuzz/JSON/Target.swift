/// Both ways of reading must agree with each other, and with Foundation except for known differences; what was read and
/// written must be readable again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let comparison = Comparison(Array(UnsafeBufferPointer(start: start, count: count)))
  if let problem = comparison.problem { fatalError(problem) }
  return 0
}
