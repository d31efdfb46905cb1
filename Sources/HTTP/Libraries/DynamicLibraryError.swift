/// The library or function that the system lacks.
package enum DynamicLibraryError: Error, Hashable {
  case missingLibrary(String)
  case missingFunction(String, library: String)
}
