import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import RedisStore
import SocketHTTP
import Stores
import Streams
import Synchronization

/// What all accounts of the process share.
struct World: Sendable {
  let settings: Settings
  let tally: Tally
  let redis: Redis
  let transport: SocketTransport

  init(_ settings: Settings, _ tally: Tally) {
    (self.settings, self.tally) = (settings, tally)
    redis = Redis(RedisServer(port: settings.redisPort)) { error in tally.count("Redis: \(error)") }
    var configuration = SocketTransport.Configuration()
    configuration.httpVersions = .priorKnowledge
    configuration.proxy = .none
    transport = SocketTransport(configuration: configuration)
  }

  func client(_ middlewares: [any HTTPMiddleware], total: Duration) throws -> APIClient {
    var client = try APIClient(
      baseURL: settings.gateway, transport: transport, middlewares: middlewares,
      // One that hangs is given up in time for another attempt.
      timeouts: HTTPTimeouts(idle: .milliseconds(600), total: total))
    client.observer = tally
    return client
  }
}

/// One account in this process: its notes one by one and as records, both in Redis, and its outbox on this process's disk.
final class Account: AccountMember {
  let name: String
  let notes: Store<String, Note>
  let records: NormalizedStore
  let outbox: Outbox<Write, Note>
  let client: APIClient
  private let watched = Mutex<[String: Note]>([:])
  private let watching = DisposeBag()
  private let tally: Tally

  /// How many there are, also of those that were closed or signed out.
  static let count = Atomic(0)

  init(_ name: String, in world: World) throws {
    self.name = name
    tally = world.tally
    Self.count.add(1, ordering: .relaxed)
    let logins = try world.client([], total: .seconds(1))
    let tokens = InMemoryTokenProvider { _ in
      SignIn(name).data(on: logins).map { data in
        AccessToken(
          data.signIn.value, expiresAt: Date(timeIntervalSince1970: data.signIn.expiresAt), account: name)
      }
    }
    let client = try world.client(.standard(tokens: tokens), total: Settings.deadline)
    self.client = client

    let tally = world.tally
    let tier = RedisStore<String, Note>(world.redis, partition: name, leaseTime: Settings.lease)
    var configuration = StoreConfiguration<Note>()
    configuration.freshness = Freshness(staleTime: .seconds(2), refreshAfterWrite: .milliseconds(1_500))
    configuration.onStorageError = { tally.count("source of truth: \(Self.kind($0))") }
    notes = Store(storage: .async(tier), configuration: configuration) { id in
      try await tier.fetch(id) { try await GetNote(id).data(on: client).value.note }
    }

    var ofRecords = NormalizedConfiguration()
    ofRecords.freshness.staleTime = .seconds(2)
    ofRecords.onStorageError = { tally.count("records: \(Self.kind($0))") }
    records = NormalizedStore(
      client, schema: RecordSchema(), storage: RedisRecords(world.redis, partition: name), configuration: ofRecords)

    outbox = try Outbox(folder: world.settings.folder, partition: name, isIdempotent: { _ in true }) { write, _ in
      WriteNote(write).data(on: client).map(\.write)
    }
    notes.show(outbox) { .of($0.note, Self.change($0)) }
    watch()
  }

  deinit { Self.count.subtract(1, ordering: .relaxed) }

  private static func kind(_ error: any Error) -> String { String("\(error)".prefix(60)) }

  /// How a write shows while the origin has not answered.
  static func change(_ write: Write) -> @Sendable (Note?) -> Note? {
    { note in
      var note = note
      note?.last = write.id
      return note
    }
  }

  /// One note is polled, one shows what is written, and one is a record.
  private func watch() {
    let name = name
    let polled = notes.stream("n0", every: .seconds(1)).compactMap(\.value)
    let records = records.values(GetNote("n2")).map(\.note)
    for (what, values) in [("polled", polled), ("watched", notes.values("n1")), ("record", records)] {
      values.subscribe(
        onNext: { [weak self, tally] note in
          tally.check(note, of: name)
          self?.watched.withLock { $0[what] = note }
        }, onError: { _ in }
      ).disposed(by: watching)
    }
  }

  /// What the watchers have shown last.
  var shown: [String: Note] { watched.withLock { $0 } }

  var isBusy: Bool { notes.isBusy || outbox.isBusy }
  var hasEnded: Bool { notes.hasEnded && outbox.hasEnded }

  func notifyWhenBusy(_ action: @escaping @Sendable () -> Void) {
    notes.notifyWhenBusy(action)
    outbox.notifyWhenBusy(action)
  }

  func close() async {
    watching.dispose()
    await outbox.close()
    await notes.close()
    await records.close()
  }

  func signOut() async throws {
    watching.dispose()
    try await outbox.signOut()
    try await notes.signOut()
    try await records.signOut()
  }
}
