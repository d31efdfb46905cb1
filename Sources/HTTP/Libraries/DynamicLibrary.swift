#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A library of the system, loaded while the program runs, so that nothing must be linked or installed to build it.
///
/// It is never unloaded: what it gave stays good until the process ends.
package struct DynamicLibrary {
  private let name: String
  private let handle: UnsafeMutableRawPointer

  /// Loads the first of these libraries that the system's loader finds.
  package init(_ names: String...) throws(DynamicLibraryError) {
    for name in names {
      if let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
        self.name = name
        self.handle = handle
        return
      }
    }
    throw .missingLibrary(names[0])
  }

  /// The function of that name.
  ///
  /// The caller answers for the type: it must be a `@convention(c)` one, as the library's header declares it.
  package func function<Function>(_ name: String) throws(DynamicLibraryError) -> Function {
    precondition(MemoryLayout<Function>.size == MemoryLayout<UnsafeRawPointer>.size, "\(Function.self) is not C's")
    guard let address = dlsym(handle, name) else { throw .missingFunction(name, library: self.name) }
    return unsafeBitCast(address, to: Function.self)
  }
}
