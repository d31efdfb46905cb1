import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams

/// A folder for a test's cassettes, which is removed with it.
final class CassetteFolder: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "cassettes-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var file: URL { folder.appending(path: "run.json") }

  /// The names of all files, by their paths below the folder.
  var names: [String] {
    let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    return paths.filter { $0.contains(".") && !$0.hasSuffix(".bodies") }.sorted()
  }

  func text(of name: String = "run.json") throws -> String {
    try String(contentsOf: folder.appending(path: name), encoding: .utf8)
  }

  func write(_ contents: Data, to name: String = "run.json") throws {
    let file = folder.appending(path: name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try contents.write(to: file)
  }

  /// Sends requests one after another through a recorder of a scripted response, and finishes.
  func record(
    _ requests: HTTPRequest..., response: ScriptedResponse = .json("{}"), secrets: CassetteSecrets = CassetteSecrets()
  ) async throws {
    let recorder = RecordingTransport(ScriptedTransport(always: response), to: file, secrets: secrets)
    for request in requests { _ = await recorder.send(request).collect(upTo: 1 << 20).outcome }
    try recorder.finish()
  }
}

extension Observable {
  /// The first element, or the error that came in its place.
  var outcome: Result<Element, RequestError> {
    get async {
      do { return .success(try await value) } catch { return .failure(RequestError(wrapping: error)) }
    }
  }
}

extension HTTPRequest {
  static func get(_ url: String, headers: HTTPHeaders = [:]) throws -> HTTPRequest {
    try HTTPRequest(method: .get, url: HTTPTestSupport.url(url), headers: headers)
  }

  static func post(
    _ body: String, to url: String = "https://h.example/x", type: StaticString = "application/json",
    headers: HTTPHeaders = [:]
  ) throws -> HTTPRequest {
    try HTTPRequest(
      method: .post, url: HTTPTestSupport.url(url), headers: headers.adding(defaults: ["Content-Type": type]),
      body: Data(body.utf8))
  }
}
