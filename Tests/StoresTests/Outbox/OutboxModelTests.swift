import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import TestSupport
import Testing

@testable import Stores

@Suite struct OutboxModelTests {
  private func mood(_ mood: OutboxModel.Mood) -> OutboxServer.Mood {
    switch mood {
    case .answers: .answers
    case .isAway: .isAway
    case .losesAnswers: .losesAnswers
    case .refuses: .fails(RequestError(.graphQL, "No."))
    case .wantsToken: .fails(RequestError(.httpStatus, "Who?", status: 401))
    case .fails: .fails(RequestError(.httpStatus, "Oops.", status: 503))
    }
  }

  @Test(arguments: [1, 2, UInt64.random(in: 3...999_999)])
  func `an outbox does what its model does, in one process or several`(seed: UInt64) async throws {
    let (folder, server) = (TemporaryFolder(), OutboxServer())
    let scheduler = TestScheduler()
    let open: () throws -> Outbox<String, String> = {
      try Outbox(
        folder: folder.url, partition: "account", lockTimeout: .seconds(60), clock: .scheduler(scheduler),
        fileSystem: SystemFileSystem(), isIdempotent: { OutboxModel.isIdempotent($0) },
        send: { server.send($0, $1) })
    }
    var random = SplitMix(seed: seed)
    var model = OutboxModel()
    var outboxes = [try open(), try open()]
    for step in 0..<TestScale.count(250, long: 3_400) {
      // The model knows no pauses.
      scheduler.advance(by: .seconds(200))
      model.now += 200
      let place = Int.random(in: 0...1, using: &random)
      let outbox = outboxes[place]
      let location = "seed \(seed), step \(step)"
      switch Int.random(in: 0..<10, using: &random) {
      case 0...4:
        let mutation = (Bool.random(using: &random) ? "i" : "n") + "\(step)"
        #expect(await outbox.outcome(mutation) == model.submit(mutation), "\(location)")
      case 5, 6:
        await outbox.flush()
        model.flush()
      case 7:
        guard let mood = OutboxModel.Mood.allCases.randomElement(using: &random) else { continue }
        server.set(self.mood(mood))
        model.mood = mood
      case 8: outboxes[place] = try open()
      default:
        let entries = try outbox.entries()
        guard let index = entries.indices.randomElement(using: &random) else { continue }
        try outbox.discard(entries[index])
        model.discard(index)
      }
      try #require(outbox.contents() == model.contents, "\(location)")
      try #require(server.received == model.received, "\(location)")
    }
    let keys = Dictionary(grouping: zip(server.received, server.keys), by: \.0).mapValues { Set($0.map(\.1)).count }
    #expect(keys.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    #expect(Set(server.keys).count == keys.count, "seed \(seed)")
  }
}
