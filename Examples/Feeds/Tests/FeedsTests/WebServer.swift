import Foundation
import GraphQLClient
import Testing

/// Runs Python's web server on 127.0.0.1, with these files, by name, and a client of it.
func withServer<Result>(of files: [String: Data], _ body: (APIClient) async throws -> Result) async throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  for (name, content) in files { try content.write(to: folder.appending(path: name)) }

  let (process, output) = (Process(), Pipe())
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "-d", folder.path, "0"]
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  // Not SIGTERM, which threads of Dispatch block, and with them their children.
  defer { kill(process.processIdentifier, SIGKILL) }

  // "Serving HTTP on 127.0.0.1 port 40001 (http://127.0.0.1:40001/) ..."
  let reader = output.fileHandleForReading
  let line = await withCheckedContinuation { continuation in
    DispatchQueue.global().async {
      continuation.resume(returning: String(decoding: reader.availableData, as: UTF8.self))
    }
  }
  let address = try #require(line.firstMatch(of: /http:[^)]*/), "python3 said: \(line)")
  return try await body(APIClient(baseURL: try #require(URL(string: String(address.0)))))
}
