/// The functions of the system's zlib that an ``Inflater`` needs (zlib.h); each stream is a pointer to a ``ZStream``.
struct ZLibrary: Sendable {
  let version: @convention(c) @Sendable () -> UnsafePointer<CChar>?
  let inflateInit2: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt, UnsafePointer<CChar>?, CInt) -> CInt
  let inflate: @convention(c) @Sendable (UnsafeMutableRawPointer, CInt) -> CInt
  let inflateReset: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt
  let inflateEnd: @convention(c) @Sendable (UnsafeMutableRawPointer) -> CInt

  /// The library, loaded on first use; `nil` if the system has none.
  static let shared = try? ZLibrary(DynamicLibrary("libz.so.1", "libz.1.dylib"))

  private init(_ library: DynamicLibrary) throws(DynamicLibraryError) {
    version = try library.function("zlibVersion")
    inflateInit2 = try library.function("inflateInit2_")
    inflate = try library.function("inflate")
    inflateReset = try library.function("inflateReset")
    inflateEnd = try library.function("inflateEnd")
  }
}
