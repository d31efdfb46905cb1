import Foundation
import Glibc
import GraphQLClient
import HTTPClientCore
import InMemoryLogging
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import SocketHTTP
import Streams
import Synchronization
import Testing

@testable import GraphQLClientLifecycle

@Suite("The service of a client")
struct ClientServiceTests {
  private struct GetUser: GraphQLSession {
    struct ResponseData: Decodable, Sendable {
      let name: String
    }
    static let query: GraphQLDocument = "query getUser { name }"
  }

  /// What happened, in order.
  private final class Journal: Sendable {
    private let lines = Mutex<[String]>([])
    private let subject = PublishSubject<String>()

    func write(_ line: String) {
      lines.withLock { $0.append(line) }
      subject.onNext(line)
    }

    var all: [String] { lines.withLock { $0 } }

    /// Waits for a line that may be there already.
    func wait(for line: String) async throws {
      let written = subject.asObservable().filter { $0 == line }.startWith("")
      for try await _ in written.values where all.contains(line) { return }
    }
  }

  /// A stream that never ends, and whose subscriptions the journal shows.
  private func endless(_ journal: Journal) -> Observable<Int> {
    .create { _ in
      journal.write("subscribed")
      return Disposables.create { journal.write("disposed") }
    }
  }

  private func logger(_ handler: InMemoryLogHandler = InMemoryLogHandler()) -> Logger {
    var logger = Logger(label: "service") { _ in handler }
    logger.logLevel = .trace
    return logger
  }

  @Test
  func `a graceful shutdown ends subscriptions, then runs the closing steps in order, then shuts the transport down`()
    async throws
  {
    let journal = Journal()
    let service = ClientService(endsWithin: .seconds(60), logger: logger()) { _ in journal.write("transport") }
      .following("likes", endless(journal))
      .closing("outbox") { journal.write("outbox") }
      .closing("store") { journal.write("store") }
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      try await journal.wait(for: "subscribed")
      trigger.triggerGracefulShutdown()
      try await run
    }
    #expect(journal.all == ["subscribed", "disposed", "outbox", "store", "transport"])
  }

  @Test func `a subscription that fails ends the service with its error, after everything is closed`() async throws {
    let journal = Journal()
    let handler = InMemoryLogHandler()
    let service = ClientService(endsWithin: .seconds(60), logger: logger(handler)) { _ in journal.write("transport") }
      .following("likes", endless(journal))
      .following("views", Observable<Int>.error(RequestError(.httpStatus, "No.", status: 403)))
      .closing("store") { journal.write("store") }
    let error = await #expect(throws: RequestError.self) { try await service.run() }
    #expect(error?.status == 403 && journal.all.suffix(2) == ["store", "transport"])
    #expect(journal.all.count { $0 == "subscribed" } == journal.all.count { $0 == "disposed" })
    #expect(handler.entries.contains { $0.level == .error && $0.metadata["subscription"] == "views" })
  }

  @Test func `a subscription that completes does not end the service`() async throws {
    let journal = Journal()
    let service = ClientService(endsWithin: .seconds(60), logger: logger()) { _ in journal.write("transport") }
      .following("views", Observable<Int>.empty().do(onCompleted: { journal.write("completed") }))
      .following("likes", endless(journal))
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      try await journal.wait(for: "completed")
      try await journal.wait(for: "subscribed")
      trigger.triggerGracefulShutdown()
      try await run
    }
    #expect(journal.all.last == "transport")
  }

  @Test func `a service group shuts the service down after the services that come later`() async throws {
    struct Server: Service {
      let journal: Journal

      func run() async throws {
        journal.write("serving")
        try await gracefulShutdown()
        journal.write("server")
      }
    }
    let journal = Journal()
    let client = ClientService(endsWithin: .seconds(60), logger: logger()) { _ in journal.write("transport") }
    let group = ServiceGroup(services: [client, Server(journal: journal)], logger: logger())
    async let run: Void = group.run()
    try await journal.wait(for: "serving")
    await group.triggerGracefulShutdown()
    try await run
    #expect(journal.all == ["serving", "server", "transport"])
  }

  @Test func `requests that are in flight when the limit is over fail, so that the end waits no longer for them`()
    async throws
  {
    let server = try SilentServer()
    let transport = SocketTransport()
    let client = try APIClient(
      baseURL: #require(URL(string: "http://127.0.0.1:\(server.port)/graphql")), transport: transport)
    let journal = Journal()
    // As an outbox that waits for its attempt in progress.
    let attempt = Task { try await GetUser().post(on: client).value }
    let service = ClientService(transport, endsWithin: .milliseconds(200), logger: logger())
      .closing("outbox") {
        let result = await attempt.result
        if case .failure(let error) = result { journal.write("\(RequestError(wrapping: error).kind)") }
      }
    while transport.statistics().total.busy == 0 { await Task.yield() }
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      trigger.triggerGracefulShutdown()
      try await run
    }
    #expect(journal.all == ["connection lost"])
  }
}

/// A server that takes connections and never responds.
private final class SilentServer: Sendable {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { bytes in
      let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return bind(descriptor, pointer, size) == 0 && listen(descriptor, 8) == 0
        && getsockname(descriptor, pointer, &size) == 0
    }
    try #require(isListening)
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }
}
