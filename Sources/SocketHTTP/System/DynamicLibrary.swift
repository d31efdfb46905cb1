import HTTPClientCore
import SystemBase

/// A system library that is loaded at run time, so that nothing must be linked or installed to build the program.
///
/// It is never unloaded: its functions stay valid until the process ends.
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

  /// The function with this name.
  ///
  /// The caller is responsible for the type: it must be the `@convention(c)` type that the library's header declares.
  package func function<Function>(_ name: String) throws(DynamicLibraryError) -> Function {
    precondition(MemoryLayout<Function>.size == MemoryLayout<UnsafeRawPointer>.size, "\(Function.self) is not C's")
    guard let address = dlsym(handle, name) else { throw .missingFunction(name, library: self.name) }
    return unsafeBitCast(address, to: Function.self)
  }
}

/// The library or function that the system lacks.
package enum DynamicLibraryError: Error, Hashable {
  case missingLibrary(String)
  case missingFunction(String, library: String)
}
