import ArgumentParser
import Foundation
import GitHubIssues
import GraphQLClient
import HTTPClientCore
import Stores
import Streams
import StrictJSON
import Synchronization
import Testing

@testable import issues

/// One issue in three lists and a view, and reactions to it.
@Suite(.timeLimit(.minutes(1))) struct ReactionTests {
  private let server: ReactionServer
  private let cache = Folder()
  private let repository: RepositoryName

  init() throws {
    server = try ReactionServer()
    repository = try #require(RepositoryName("octo-org/tea-shop"))
  }

  /// A folder that is removed with the test.
  private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private func open() throws -> IssueStore {
    let client = try APIClient(baseURL: #require(URL(string: "https://api.example/graphql")), transport: server)
    return try IssueStore(client, folder: cache.url, account: "wei")
  }

  private func run(_ arguments: [String]) async throws -> String {
    let folder = cache.url.path(percentEncoded: false)
    return try await output(of: arguments + ["--account", "wei", "--folder", folder], on: server)
  }

  /// What three lists and a view show of the issue, live.
  private final class Screens: Sendable {
    private let shown = Mutex<[GitHubIssues.Issue?]>(Array(repeating: nil, count: 4))
    private let bag = DisposeBag()

    init(_ store: IssueStore, _ repository: RepositoryName, _ policy: FetchPolicy = .cacheOnly) {
      let lists = [
        store.newest(in: repository, policy), store.newest(in: repository, label: "bug", policy),
        store.found(by: "sort:reactions", in: repository, policy),
      ]
      for (place, list) in lists.enumerated() {
        list.subscribe(onNext: { [self] snapshot in show(snapshot.value?.first, at: place) }).disposed(by: bag)
      }
      store.issue(7, in: repository, policy)
        .subscribe(onNext: { [self] snapshot in show(snapshot.value ?? nil, at: 3) }).disposed(by: bag)
    }

    private func show(_ issue: GitHubIssues.Issue?, at place: Int) { shown.withLock { $0[place] = issue } }

    /// Waits until all show a number of thumbs.
    func wait(untilThumbs count: Int, own: Bool) async throws -> GitHubIssues.Issue? {
      let own = own ? ["thumbs-up"] : []
      while true {
        let issues = shown.withLock { $0 }
        if issues.allSatisfy({ $0?.reactions["thumbs-up"] == count && $0?.ownReactions == own }) { return issues[3] }
        // The time limit ends the wait.
        try Task.checkCancellation()
        await Task.yield()
      }
    }

    func close() { bag.dispose() }
  }

  @Test func `a reaction shows in three lists and a view before the server knows of it`() async throws {
    let store = try open()
    let screens = Screens(store, repository, .cacheAndNetwork)
    let issue = try #require(try await screens.wait(untilThumbs: 2, own: false))
    server.hold()
    async let isSent = store.react(.thumbsUp, to: issue)
    _ = try await screens.wait(untilThumbs: 3, own: true)
    #expect(!server.hasThumb)
    server.goOn()
    #expect(try await isSent)
    _ = try await screens.wait(untilThumbs: 3, own: true)
    #expect(server.hasThumb)
    #expect(try await store.react(.thumbsUp, to: issue, isGiven: false))
    _ = try await screens.wait(untilThumbs: 2, own: false)
    screens.close()
    await store.close()
  }

  @Test func `without a network it waits, shows after a restart, and is sent when there is one`() async throws {
    let first = try open()
    let before = Screens(first, repository, .cacheAndNetwork)
    let issue = try #require(try await before.wait(untilThumbs: 2, own: false))
    server.isOnline = false
    #expect(try await !first.react(.thumbsUp, to: issue))
    _ = try await before.wait(untilThumbs: 3, own: true)
    before.close()
    await first.close()

    let second = try open()
    let after = Screens(second, repository)
    _ = try await after.wait(untilThumbs: 3, own: true)
    #expect(try await second.send() == 1)
    server.isOnline = true
    server.addThumbs(4)
    #expect(try await second.send() == 0)
    _ = try await after.wait(untilThumbs: 7, own: true)
    #expect(server.hasThumb)
    after.close()
    await second.close()

    server.isOnline = false
    let third = try open()
    let last = Screens(third, repository)
    _ = try await last.wait(untilThumbs: 7, own: true)
    last.close()
    await third.close()
  }

  @Test func `what others do meanwhile shows under a reaction that waits`() async throws {
    let store = try open()
    let screens = Screens(store, repository, .cacheAndNetwork)
    let issue = try #require(try await screens.wait(untilThumbs: 2, own: false))
    server.losesReactions = true
    #expect(try await !store.react(.thumbsUp, to: issue))
    server.addThumbs(4)
    let again = try await store.issue(7, in: repository, .networkOnly).settled()
    #expect(again?.reactions["thumbs-up"] == 7)
    #expect(!server.hasThumb)
    _ = try await screens.wait(untilThumbs: 7, own: true)
    screens.close()
    await store.close()
  }

  @Test func `one that the server refuses is taken away, and the error says why`() async throws {
    let store = try open()
    let screens = Screens(store, repository, .cacheAndNetwork)
    let issue = try #require(try await screens.wait(untilThumbs: 2, own: false))
    try server.refuseReactions()
    let error = await #expect(throws: RequestError.self) { try await store.react(.thumbsUp, to: issue) }
    #expect(error?.graphQLErrors.map(\.message) == ["The conversation is locked."])
    _ = try await screens.wait(untilThumbs: 2, own: false)
    screens.close()
    await store.close()
  }

  @Test func `commands show a reaction that waits in all lists, each in a process of its own`() async throws {
    let line = "#7  Oolong is missing  [bug]  wei, 0 comments, 1 heart"
    func places(_ reactions: String) -> String {
      ["Newest", "bug", "Most reactions"].map { "\($0):\n  \(line), \(reactions)\n" }.joined()
        + "\(line), \(reactions)\nhttps://github.example/issues/7\nIt is empty.\n"
    }
    let browse = ["browse", "octo-org/tea-shop", "--issue", "7"]
    let react = ["react", "octo-org/tea-shop", "7", "thumbs-up"]
    #expect(try await run(browse) == places("2 thumbs-up"))
    server.isOnline = false
    let waits = "\(line), 3 thumbs-up (yours, too)\nThe reaction waits for the network.\n"
    #expect(try await run(react) == waits)
    let all = places("3 thumbs-up (yours, too)")
    #expect(try await run(browse) == all + "Reactions that wait for the network: 1\n")
    #expect(!server.hasThumb)
    server.isOnline = true
    #expect(try await run(browse) == all)
    #expect(server.hasThumb)
    #expect(try await run(react + ["--remove"]) == "\(line), 2 thumbs-up\n")
    #expect(!server.hasThumb)
    let json = try JSONValue(json: try await run(browse + ["--json"]))
    #expect(json["issue"]?["reactions"] == ["heart": 1, "thumbs-up": 2])
    #expect(json["newest"]?.arrayValue?.count == 1)
  }

  @Test func `a reaction waits for another token if one is refused, and the error says so`() async throws {
    _ = try await run(["browse", "octo-org/tea-shop", "--issue", "7"])
    let react = ["react", "octo-org/tea-shop", "7", "heart"]
    server.isRefusing = true
    for command in [react, ["browse", "octo-org/tea-shop"]] {
      await #expect(throws: TokenRefusal.self) { try await self.run(command) }
    }
    server.isRefusing = false
    #expect(try await run(["browse", "octo-org/tea-shop"]).contains("2 heart (yours, too)"))
  }

  @Test func `a folder that is in use is an error, and so is an issue that there is not`() async throws {
    let store = try open()
    await #expect(throws: NormalizedStorageError.alreadyOpen) { try await self.run(["browse", "octo-org/tea-shop"]) }
    await store.close()
    await #expect(throws: ValidationError.self) {
      try await self.run(["react", "octo-org/tea-shop", "404", "heart"])
    }
  }
}
