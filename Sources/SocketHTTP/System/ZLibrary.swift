/// Return values of zlib's functions (zlib.h).
enum ZStatus {
  static let ok: CInt = 0
  static let streamEnd: CInt = 1
  static let noProgress: CInt = -5
}

/// The functions of the system's zlib that are used here (zlib.h); each stream is a pointer to a ``ZStream``.
struct ZLibrary: Sendable {
  /// The largest window of a raw stream (RFC 1951), as `windowBits` says it.
  static let rawWindow: CInt = -15

  let version: @convention(c) @Sendable () -> UnsafePointer<CChar>?
  let inflateInit2: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>?, CInt) -> CInt
  let inflate: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt) -> CInt
  let inflateReset: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt
  /// Like `inflateReset`, but what comes may still refer to what came before.
  let inflateResetKeep: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt
  let inflateEnd: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt
  let deflateInit2:
    @convention(c) @Sendable (
      UnsafeMutableRawPointer, _ level: CInt, _ method: CInt, _ windowBits: CInt, _ memLevel: CInt, _ strategy: CInt,
      UnsafePointer<CChar>?, CInt
    ) -> CInt
  let deflate: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt) -> CInt
  let deflateEnd: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt

  /// The library, loaded on first use; `nil` if the system has none.
  static let shared = try? ZLibrary(DynamicLibrary("libz.so.1", "libz.1.dylib"))

  private init(_ library: DynamicLibrary) throws(DynamicLibraryError) {
    version = try library.function("zlibVersion")
    inflateInit2 = try library.function("inflateInit2_")
    inflate = try library.function("inflate")
    inflateReset = try library.function("inflateReset")
    inflateResetKeep = try library.function("inflateResetKeep")
    inflateEnd = try library.function("inflateEnd")
    deflateInit2 = try library.function("deflateInit2_")
    deflate = try library.function("deflate")
    deflateEnd = try library.function("deflateEnd")
  }
}

/// zlib's `z_stream`, field by field (zlib.h); `inflateInit2_` and `deflateInit2_` are given its size, and refuse
/// a wrong one.
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
