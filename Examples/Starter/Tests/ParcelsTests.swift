import GraphQLClient
import GraphQLClientTesting
import GraphQLTesting
import HTTPClientCore
import Stores
import Streams
import StreamsTesting
import Synchronization
import SystemBase
import Testing

@testable import starter

/// The program's own client and store, on servers in this process.
@Suite(.timeLimit(.minutes(1))) struct ParcelsTests {
  private let folder = Folder()

  private func parcels(on transport: any HTTPTransport) throws -> Parcels {
    try Parcels(Settings(["list"], [:]).client(on: transport), folder: folder.url, account: "test")
  }

  @Test func `a delivery shows in the live list before the server knows of it, and is sent when there is a network`()
    async throws
  {
    let network = Network(try embeddedBackend())
    let parcels = try parcels(on: network)
    var lists = parcels.live.values.makeAsyncIterator()
    func wait(for state: ParcelState) async throws {
      while try #require(try await lists.next()).first?.state != .known(state) {}
    }
    try await wait(for: .waiting)
    network.isAway = true
    #expect(try await !parcels.deliver("P-1"))
    try await wait(for: .delivered)
    #expect(network.deliveries == 0)
    network.isAway = false
    #expect(try await parcels.fetch().map(\.state) == [.known(.delivered), .known(.loaded), .known(.waiting)])
    #expect(network.deliveries == 1)
    await parcels.close()
  }

  @Test func `a parcel that the server does not know is its error`() async throws {
    let parcels = try parcels(on: try embeddedBackend())
    let error = await #expect(throws: RequestError.self) { try await parcels.deliver("P-9") }
    #expect(error?.graphQLErrors.map(\.message) == ["There is no such parcel."])
    await parcels.close()
  }

  @Test func `a request that fails is sent again after a pause, and a slow response is awaited, in virtual time`()
    async throws
  {
    let scheduler = TestScheduler()
    let transport = ScriptedTransport(scheduler: scheduler)
    transport.expect(.operation("parcels"), .json("{}", status: 503))
    transport.expect(.operation("parcels"), .json(#"{"data": {"parcels": []}}"#).after(.seconds(2)))
    let client = try Settings(["list"], [:]).client(on: transport, scheduler: scheduler)
    let list = try await scheduler.withTasks { time in
      async let list = ParcelsSession(client: client).parcels().value
      await time.advance(by: .seconds(3))
      return try await list.parcels
    }
    #expect(list == [])
    #expect(transport.failures == [])
  }

  /// A run that was recorded. `RECORD_CASSETTES=1 swift test` records it again: from the embedded backend, or from the
  /// server at `ENDPOINT`.
  @Test func `a recorded list is read`() async throws {
    let cassette = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "list.json")
    let environment = ProcessInfo.processInfo.environment
    guard environment["RECORD_CASSETTES"] != nil else {
      let transport = try ReplayingTransport(contentsOf: cassette)
      let parcels = try parcels(on: transport)
      #expect(try await !parcels.fetch().isEmpty)
      #expect(transport.failures == [])
      await parcels.close()
      return
    }
    let settings = try Settings(["list"], environment)
    let recorder = RecordingTransport(try settings.transport(), to: cassette)
    let parcels = try Parcels(settings.client(on: recorder), folder: folder.url, account: "test")
    _ = try await parcels.fetch()
    try recorder.finish()
    await parcels.close()
  }
}

/// The network to a server, which may be away. A subscription brings nothing, and does not end.
final class Network: HTTPTransport {
  private let server: TestServer
  private let away = Mutex(false)

  init(_ server: TestServer) { self.server = server }

  var isAway: Bool {
    get { away.withLock { $0 } }
    set { away.withLock { $0 = newValue } }
  }

  /// How many deliveries have reached the server.
  var deliveries: Int { server.requests.count { $0.operationName == "deliver" } }

  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    if request.operationName == "parcelChanged" { return .never() }
    return isAway ? .error(RequestError(.cannotConnect, "There is no network.")) : server.send(request)
  }
}

/// A folder that is removed with the test.
final class Folder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  deinit { try? FileManager.default.removeItem(at: url) }
}
