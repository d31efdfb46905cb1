import Foundation
import Glibc
import GraphQLClient
import HTTPClientCore
import SocketHTTP
import Streams
import TestSupport
import Testing

/// What becomes of all that a client does in a process that has no descriptors left, until it has some again.
@Suite(.timeLimit(.minutes(2))) struct ShortageTests {
  private struct UploadPhoto: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let file: GraphQLUpload
    }
    struct ResponseData: Decodable, Sendable {
      let uploadPhoto: String
    }
    static let query: GraphQLDocument = "mutation uploadPhoto($file: Upload!) { uploadPhoto(file: $file) }"
    let variables: Variables
  }

  private struct Work {
    let all: [(name: String, seen: Seen<String>)]

    /// Begins to request, to upload and to subscribe in every way.
    init(
      _ server: BFFServer, _ file: GraphQLUpload, attempts: Int?, connect: Duration = .seconds(60),
      over transport: SocketTransport
    ) throws {
      var client = try APIClient(baseURL: server.graphqlURL, transport: transport)
      client.timeouts.connect = connect
      let like = SetLike(variables: .init(momentID: "m1-1", userID: "1", isLiked: true))
      var all = [
        ("request", Seen(like.data(on: client).map { $0.updateMomentLike.userDetails.id })),
        ("upload", Seen(UploadPhoto(variables: .init(file: file)).data(on: client).map(\.uploadPhoto))),
      ]
      for way in LiveWay.allCases {
        var settings = LiveSettings()
        settings.attempts = attempts
        settings.pauses = Backoff(initial: .milliseconds(1), maximum: .milliseconds(20))
        client.graphQL.live = way.transport(settings)
        all.append((way.rawValue, Seen(Countdown(0).data(on: client).map { "\($0.countdown)" })))
      }
      self.all = all
    }

    /// Waits for all ends. Each is a result, or an error that says what was lacking, and that nothing was sent.
    func ends() async throws -> [String: Seen<String>.State] {
      var ends: [String: Seen<String>.State] = [:]
      for (name, seen) in all {
        let end = try await seen.state.wait(for: "the end of the \(name)", within: .seconds(30)) { $0.isEnded }
        let isRefusal = end.error?.isShortage == true && end.error?.reached == .never
        try #require(end.isCompleted || isRefusal, "\(name): \(end.error as Any)")
        ends[name] = end
      }
      return ends
    }
  }

  @Test(arguments: [false, true])
  func `T7: without descriptors, all that a client does ends in an error, or is done once there are some`(
    isWarm: Bool
  ) async {
    await #expect(processExitsWith: .success) { [isWarm] in
      endProcess()
      let server = try await BFFServer.start()
      let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try Data(count: 300_000).write(to: path)
      let file = try GraphQLUpload.file(path, contentType: "image/x-test")
      let (impatient, patient) = (SocketTransport(), SocketTransport())
      if isWarm {
        for transport in [impatient, patient] {
          let ends = try await Work(server, file, attempts: 1, over: transport).ends()
          try #require(ends.values.allSatisfy { $0.isCompleted }, "before: \(ends)")
        }
      }
      // Dispatch makes its own when it needs them, and cannot do without.
      await MainActor.run {}
      try await Task.sleep(for: .milliseconds(1))
      // While requests wait, it opens files to see what its threads do: there are those that transports leave to others.
      let taken = DescriptorLimit.reach(but: 4)
      let waiting = try Work(server, file, attempts: nil, over: patient)
      let refused = try await Work(server, file, attempts: 2, connect: .milliseconds(300), over: impatient).ends()
      for descriptor in taken { close(descriptor) }
      try #require(refused["webSocket"]?.error?.isShortage == true, "\(refused)")
      // If the connection that it has was idle for a second, a mutation needs another one.
      try #require(isWarm || refused["request"]?.isCompleted == false, "\(refused)")
      let ends = try await waiting.ends()
      for way in LiveWay.allCases { try #require(ends[way.rawValue]?.elements == ["0"], "\(ends)") }
      try #require(isWarm || ends["request"]?.isCompleted == false, "\(ends)")
      for transport in [impatient, patient] {
        let ends = try await Work(server, file, attempts: 1, over: transport).ends()
        try #require(ends.values.allSatisfy { $0.isCompleted }, "after: \(ends)")
      }
      try FileManager.default.removeItem(at: path)
      try await server.stop()
    }
  }
}
