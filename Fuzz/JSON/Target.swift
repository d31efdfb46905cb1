/// Both ways of reading must agree, with each other and with Foundation but for differences that are explained, and what
/// was read and written must be read again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let comparison = Comparison(Array(UnsafeBufferPointer(start: start, count: count)))
  if let problem = comparison.problem { fatalError(problem) }
  return 0
}
