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

  /// The folder that holds the running test bundle and with it the executables built in the same configuration,
  /// whatever the configuration and the scratch path are.
  package static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// An executable product of the package, such as `moments`.
  package static func executable(_ name: String) throws -> URL {
    let file = products.appendingPathComponent(name)
    guard FileManager.default.isExecutableFile(atPath: file.path) else { throw MissingExecutable(path: file.path) }
    return file
  }
}

/// A program that a test runs is not there.
package struct MissingExecutable: Error, CustomStringConvertible {
  package let path: String

  package var description: String { "There is no executable file at \(path). Build it with swift build." }
}
