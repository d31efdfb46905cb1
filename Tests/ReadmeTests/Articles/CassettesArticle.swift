// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClientTesting
import HTTPClientCore
import Models
import Networking
import SocketHTTP
import Streams
import Testing

enum CassettesArticle {
  static func record(to file: URL, endpoint: URL) async throws -> MomentsDetails {
    let recorder = RecordingTransport(SocketTransport(), to: file)
    let client = try APIClient(baseURL: endpoint, transport: recorder)
    let timeline = try await GetMomentsByUserIDSession(client: client).getMoments(userID: "0").value
    try recorder.finish()
    return timeline
  }

  static func replay(from file: URL, endpoint: URL) async throws -> MomentsDetails {
    let transport = try ReplayingTransport(contentsOf: file)
    let client = try APIClient(baseURL: endpoint, transport: transport)
    let timeline = try await GetMomentsByUserIDSession(client: client).getMoments(userID: "0").value
    #expect(transport.failures == [])
    return timeline
  }

  static func withCassette<Value>(_ file: URL, _ run: (any HTTPTransport) async throws -> Value) async throws -> Value {
    guard ProcessInfo.processInfo.environment["RECORD_CASSETTES"] != nil else {
      let transport = try ReplayingTransport(contentsOf: file)
      let value = try await run(transport)
      #expect(transport.failures == [])
      return value
    }
    let recorder = RecordingTransport(SocketTransport(), to: file)
    let value = try await run(recorder)
    try recorder.finish()
    return value
  }

  static func secrets(to file: URL, password: String) -> RecordingTransport {
    let recorder = RecordingTransport(
      SocketTransport(), to: file,
      secrets: CassetteSecrets(
        names: CassetteSecrets.usualNames.union(["pin"]), shownHeaders: ["X-Tenant"], values: [password]))
    return recorder
  }
}
