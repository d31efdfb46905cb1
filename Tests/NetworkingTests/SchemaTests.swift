import Foundation
import TestSupport
import Testing

struct SchemaTests {
  @Test func `schema.graphql is what the server prints of its schema`() async throws {
    let printed = try await ChildProcess.run(
      PythonEnvironment.python(), [RepositoryLayout.server.path, "--print-schema"])
    #expect(printed.ending == .exited(0), "\(printed.errorText)")
    #expect(try printed.outputText == String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
  }
}
