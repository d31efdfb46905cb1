package import Foundation

/// The Python that runs the GraphQL server and its companions, with the packages they need.
package enum PythonEnvironment {
  /// The Python of the virtual environment in `.venv`. The first call makes the environment, unless it is up to date;
  /// that takes about 20 seconds, and the network for pip.
  package static func python() async throws -> URL { try await made.value }

  private static let made = Task {
    let folder = RepositoryLayout.root.appendingPathComponent(".venv")
    let making = try await ChildProcess.run(
      RepositoryLayout.root.appendingPathComponent("Scripts/virtualenv"),
      [folder.path, RepositoryLayout.root.appendingPathComponent("Tests/BFF/requirements.txt").path],
      within: .seconds(300))
    guard making.ending == .exited(0) else { throw Failure(output: making.outputText + making.errorText) }
    if !making.outputText.isEmpty { FileHandle.standardError.write(Data(making.outputText.utf8)) }
    return folder.appendingPathComponent("bin/python")
  }

  /// The environment could not be made.
  package struct Failure: Error, CustomStringConvertible {
    let output: String

    package var description: String { "The tests' Python environment could not be made: \(output)" }
  }
}
