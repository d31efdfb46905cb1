package import Foundation

/// Where things lie in the working copy and beside the running tests.
package enum RepositoryLayout {
  /// The folder of `Package.swift`.
  package static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The SDL that the models and queries are written against.
  package static let schema = root.appendingPathComponent("schema.graphql")

  /// The program of the GraphQL server.
  package static let server = root.appendingPathComponent("Tests/BFF/server.py")

  /// The Python of the virtual environment that `Scripts/test` makes.
  package static let python = root.appendingPathComponent(".venv/bin/python")

  /// The folder that holds the running test bundle and with it the executables built in the same configuration,
  /// whatever the configuration and the scratch path are.
  package static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// An executable product of the package, such as `moments`.
  package static func executable(_ name: String) throws -> URL {
    try existing(products.appendingPathComponent(name), hint: "Build it with swift build.")
  }

  /// The environment's Python; an error that says how to make it where it is missing.
  package static func existingPython() throws -> URL {
    try existing(python, hint: "Run Scripts/test once, which makes the Python environment.")
  }

  private static func existing(_ file: URL, hint: String) throws -> URL {
    guard FileManager.default.isExecutableFile(atPath: file.path) else {
      throw MissingFile(path: file.path, hint: hint)
    }
    return file
  }
}

/// A file that a test needs is not there.
package struct MissingFile: Error, CustomStringConvertible {
  package let path: String
  package let hint: String

  package var description: String { "There is no executable file at \(path). \(hint)" }
}
