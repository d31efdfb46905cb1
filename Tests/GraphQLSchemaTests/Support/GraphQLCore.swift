import Foundation
import GraphQLLanguage
import GraphQLSchema
import TestSupport

/// graphql-core, which serves as an oracle.
enum GraphQLCore {
  /// What a line of `Oracle/NAME.py` is responded to, for each of many requests.
  static func run<Request: Encodable, Response: Decodable>(
    _ program: String, _ requests: [Request], as type: Response.Type = Response.self
  ) async throws -> [Response] {
    let script = RepositoryLayout.root.appendingPathComponent("Tests/GraphQLSchemaTests/Oracle/\(program).py")
    var input = Data()
    for request in requests {
      input += try JSONEncoder().encode(request)
      input.append(UInt8(ascii: "\n"))
    }
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("oracle-\(UUID().uuidString).jsonl")
    try input.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let python = try await PythonEnvironment.python()
    let end = try await ChildProcess.run(python, [script.path, file.path], within: .seconds(300))
    guard end.ending == .exited(0) else { throw Failure(text: end.errorText) }
    return try end.outputText.split(separator: "\n").map {
      try JSONDecoder().decode(Response.self, from: Data($0.utf8))
    }
  }

  struct Failure: Error {
    let text: String
  }
}
