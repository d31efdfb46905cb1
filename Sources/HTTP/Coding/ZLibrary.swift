/// The functions of the system's zlib that an ``Inflater`` needs (zlib.h); each stream is a pointer to a ``ZStream``.
struct ZLibrary: Sendable {
  let version: @convention(c) @Sendable () -> UnsafePointer<CChar>?
  let inflateInit2: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>?, CInt) -> CInt
  let inflate: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt) -> CInt
  let inflateReset: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt
  let inflateEnd: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt

  /// The library, loaded at the first use; `nil` where the system has none.
  static let shared = try? ZLibrary(DynamicLibrary("libz.so.1", "libz.1.dylib"))

  private init(_ library: DynamicLibrary) throws(DynamicLibraryError) {
    version = try library.function("zlibVersion")
    inflateInit2 = try library.function("inflateInit2_")
    inflate = try library.function("inflate")
    inflateReset = try library.function("inflateReset")
    inflateEnd = try library.function("inflateEnd")
  }
}

/// zlib's `z_stream`, field by field (zlib.h); `inflateInit2_` is told its size and refuses one that does not fit.
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
