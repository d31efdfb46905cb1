/// zlib's `z_stream`, field by field (zlib.h); `inflateInit2_` is given its size, and refuses a wrong one.
struct ZStream {
  var nextIn: UnsafePointer<UInt8>?
  var availableIn: CUnsignedInt = 0
  var totalIn: CUnsignedLong = 0
  var nextOut: UnsafeMutablePointer<UInt8>?
  var availableOut: CUnsignedInt = 0
  var totalOut: CUnsignedLong = 0
  var message: UnsafePointer<CChar>?
  var state: OpaquePointer?
  var allocate: OpaquePointer?
  var free: OpaquePointer?
  var opaque: OpaquePointer?
  var dataType: CInt = 0
  var checksum: CUnsignedLong = 0
  var reserved: CUnsignedLong = 0
}
