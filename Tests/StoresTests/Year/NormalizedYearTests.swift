import Foundation
import GraphQLClient
import HTTPClientCore
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// A normalised store on disk that is used for a year, with a restart each quarter.
@Suite(.timeLimit(.minutes(15)))
struct NormalizedYearTests {
  private static let issues = TestScale.count(1_000, long: 100_000)
  private static let visitsADay = TestScale.count(2, long: 240)
  private static let threshold = TestScale.count(32, long: 128) << 10
  private static let memoryCount = TestScale.count(25, long: 100)
  private static let staleTime = YearClock.hour * 6

  /// Responds at once: the title of an issue is the seconds of the year that had passed.
  private final class Server: HTTPTransport {
    let isDown = Mutable(false)
    let count = Mutable(0)
    /// When each issue was requested last.
    let requested = Mutable<[String: Duration]>([:])
    private let clock: YearClock

    init(_ clock: YearClock) { self.clock = clock }

    func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
      .create { [self] observer in
        count.update { $0 += 1 }
        guard !isDown.value, let body = request.body, case .object(let members)? = try? JSONValue(json: body.bytes),
          case .object(let variables)? = members["variables"], let id = variables["id"]?.stringValue
        else {
          observer.onError(RequestError(.connectionLost, "down"))
          return Disposables.create {}
        }
        let title = "\(clock.time.now / .seconds(1))"
        let isRename = request.operationName == "rename"
        if !isRename { requested.update { $0[id] = clock.time.now } }
        let data = isRename ? renamed(id, title) : issue(id, title)
        let response = HTTPResponse(
          status: 200, headers: ["Content-Type": "application/json"], body: Data("{\"data\": \(data)}".utf8))
        for part in response.parts { observer.onNext(part) }
        observer.onCompleted()
        return Disposables.create {}
      }
    }
  }

  private let clock = YearClock()
  private let folder = TemporaryFolder()
  private let server: Server

  init() { server = Server(clock) }

  private func store() throws -> NormalizedStore {
    var configuration = NormalizedConfiguration()
    configuration.clock = clock.clock
    configuration.freshness.staleTime = Self.staleTime
    configuration.writing = .behind
    configuration.memoryCount = Self.memoryCount
    configuration.idleTime = YearClock.day
    configuration.collectionThreshold = Self.threshold
    let url = try #require(URL(string: "http://127.0.0.1/graphql"))
    let client = try APIClient(baseURL: url, transport: server)
    return try NormalizedStore(
      client, schema: RecordSchema(NormalizedWorld.schema), folder: folder.url, partition: "a",
      configuration: configuration)
  }

  private var now: String { "\(clock.time.now / .seconds(1))" }

  /// One thing that is done with an issue; what is wrong then.
  private func visit(_ id: String, in store: NormalizedStore, _ random: inout SplitMix) async throws -> String? {
    func title(_ policy: FetchPolicy = .cacheFirst) async -> String? {
      (try? await store.get(GetIssue(id), policy).value)?.value?.issue?.title
    }
    switch Int.random(in: 0..<20, using: &random) {
    case 0:
      store.invalidate(EntityID("Issue", id: id))
      let title = await title()
      return server.isDown.value || title == now ? nil : "invalidated, and is \(title ?? "missing")"
    case 1, 2:
      let change = try? await store.mutate(RenameIssue(id, "x")).value
      guard change != nil else { return server.isDown.value ? nil : "cannot be changed" }
      let title = await title(.cacheOnly)
      return title == nil || title == now ? nil : "changed, and is \(title ?? "missing")"
    default:
      guard let snapshot = try? await store.get(GetIssue(id)).value, let issue = snapshot.value?.issue,
        let asOf = issue.title.flatMap({ Double($0) })
      else { return server.isDown.value ? nil : "cannot be read" }
      if issue.id != id { return "is \(issue)" }
      let age = clock.time.now - .seconds(asOf)
      // The date of the response counts, also where a later mutation has changed the title.
      let setBack = clock.setBack(since: server.requested.value[id] ?? .zero)
      return age <= (server.isDown.value ? YearClock.day * 7 : Self.staleTime) + setBack ? nil : "\(age) old"
    }
  }

  /// The size of all files.
  private var bytes: Int {
    folder.files.map { (try? FileManager.default.attributesOfItem(atPath: folder.path($0))[.size] as? Int) ?? 0 }
      .reduce(0, +)
  }

  @Test func `in a year nothing is stale for ever, and records, files, watchers and timers stay within bounds`()
    async throws
  {
    var random = SplitMix(seed: 3)
    var faults: [String] = []
    var (mostBytes, mostEntities, mostTimers, largestFolder) = (0, 0, 0, 0)
    var store = try store()
    var polled: [Polled] = []
    var watchers: [Recorder<Snapshot<GetIssue.ResponseData>>] = []
    for day in 0..<365 {
      clock.jumpIfDue(on: day)
      if day % 91 == 0 {
        for polled in polled { polled.dispose() }
        for recorder in watchers { recorder.dispose() }
        await store.close()
        store = try self.store()
        polled = (0..<2).map { id in
          Polled(store.stream(GetIssue("\(id)"), every: YearClock.hour * 8)) { $0.issue?.title.flatMap { Double($0) } }
        }
      }
      for recorder in watchers { recorder.dispose() }
      watchers = (0..<2).map { _ in
        Recorder(store.stream(GetIssue("\(Int.random(in: 0..<Self.issues, using: &random))"), .cacheAndNetwork))
      }
      for visit in 0..<Self.visitsADay {
        server.isDown.update { $0 = day % 10 == 4 && visit == 0 }
        clock.time.advance(by: YearClock.day / Self.visitsADay)
        let issues = Bool.random(using: &random) ? Self.issues / 100 : Self.issues
        let id = "\(Int.random(in: 0..<issues, using: &random))"
        if let fault = try await self.visit(id, in: store, &random) { faults.append("day \(day), \(id): \(fault)") }
        mostBytes = max(mostBytes, store.size)
        mostEntities = max(mostEntities, store.entityCount)
        mostTimers = max(mostTimers, clock.time.pendingCount)
      }
      try await store.flush()
      largestFolder = max(largestFolder, bytes)
      for polled in polled {
        if let fault = await polled.fault(clock, YearClock.day) { faults.append("day \(day): \(fault)") }
      }
      if faults.count > 20 { break }
    }
    #expect(faults == [])
    #expect(mostBytes <= 2 * Self.threshold)
    #expect(mostBytes > Self.threshold / 2)
    #expect(mostEntities <= 4_000)
    #expect(mostTimers <= 20)
    // Beside the records, files say when each of up to 16,384 operations came.
    #expect(largestFolder <= TestScale.count(1, long: 2) << 20)
    #expect(server.count.value > 365 * 5)
    for polled in polled { polled.dispose() }
    for recorder in watchers { recorder.dispose() }
    clock.time.advance(by: YearClock.day * 2)
    store.collect()
    #expect(store.entityCount <= 1)
    #expect(clock.time.pendingCount == 0)
    try await store.signOut()
    #expect(bytes == 0)
  }
}
