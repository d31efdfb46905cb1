import Foundation
import GraphQLClient
import HTTPClientCore
import Networking
import SocketHTTP
import Streams
import StrictJSON
import Testing

@testable import TimelineServer

@Suite(.serialized, .timeLimit(.minutes(5))) struct TimelineServerTests {
  private func page(_ response: HTTPResponse) throws -> TimelinePage {
    #expect(response.head.status == 200)
    return try JSONCoder().decode(TimelinePage.self, from: response.body)
  }

  @Test func `a signed-in user gets a timeline by pages, and a stranger a 401`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Browser(server, user: "0")
    let first = try await page(browser.send(.get, "timelines/0"))
    let third = try await page(browser.send(.get, "timelines/0?page=3"))
    #expect(first.owner == "Lin Wei")
    #expect(first.pageCount == 3)
    #expect(first.moments.first?.id == "m0-0")
    #expect(third.moments.count == 20)
    #expect(third.moments.first?.id == "m0-40")
    #expect(try await browser.send(.get, "timelines/0?page=0").head.status == 400)
    #expect(try await browser.send(.get, "timelines/none").head.status == 404)
    #expect(try await Browser(server.url).send(.get, "timelines/0").head.status == 401)
    withExtendedLifetime(server) {}
  }

  @Test func `a like in one browser is an event in all others`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let (one, other) = (try await Browser(server, user: "0"), try await Browser(server, user: "1"))
    let likes = try one.events("timelines/0/events").filter { $0.type != "beat" }.map { event in
      try JSONCoder().decode(TimelinePage.self, from: Data((event.data ?? "").utf8)).moments.first { $0.id == "m0-0" }?
        .likes
    }
    let hasLike = likes.map { $0?.contains { $0.id == "1" && $0.name == "王小明" } ?? false }.distinctUntilChanged()
    var seen: [Bool] = []
    for try await isLiked in hasLike.timeout(.seconds(30), scheduler: ConcurrentScheduler()).values {
      seen.append(isLiked)
      if seen == [false] {
        #expect(try await other.send(.put, "timelines/0/likes/m0-0").head.status == 204)
      } else if seen == [false, true] {
        #expect(try await other.send(.delete, "timelines/0/likes/m0-0").head.status == 204)
      } else {
        break
      }
    }
    #expect(seen == [false, true, false])
    withExtendedLifetime(server) {}
  }

  @Test func `browsers hear what the server does: what they share, and what leaves with them`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let (one, other) = (try await Browser(server, user: "0"), try await Browser(server, user: "0"))
    let follower = try other.events("timelines/0/events").subscribe(onNext: { _ in })
    let figures = try one.figures("timelines/0/events").timeout(.seconds(30), scheduler: ConcurrentScheduler())
    var seen: [Figures] = []
    for try await now in figures.values {
      seen.append(now)
      if now.browsers == 2 { follower.dispose() }
      if now.browsers == 1, seen.contains(where: { $0.browsers == 2 }) { break }
    }
    #expect(seen.allSatisfy { $0.subscriptions == 1 })
    let last = try #require(seen.last)
    // That of the subscription.
    #expect(last.busyConnections >= 1)
    #expect(last.connections >= last.busyConnections)
    // The first browser's first read found nothing, and the second one's found that.
    #expect(last.misses >= 1)
    #expect(last.hits >= 1)
    withExtendedLifetime(server) {}
  }

  @Test func `a revoked token gets a 401, although another device of the user has filled the cache`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff, ["STALE_TIME": "60", "CHECK_INTERVAL": "0"])
    // The BFF numbers its tokens, again from 1 after a reset: this one must not be given out a second time.
    _ = try await Browser(server, user: "1")
    let revoked = try await Browser(server, user: "0")
    _ = try await page(revoked.send(.get, "timelines/0"))
    try await bff.reset()
    let valid = try await Browser(server, user: "0")
    _ = try await page(valid.send(.get, "timelines/0"))
    for _ in 0..<2 { #expect(try await revoked.send(.get, "timelines/0").head.status == 401) }
    #expect(try await revoked.send(.get, "timelines/0/events").head.status == 401)
    #expect(try await valid.send(.get, "timelines/0").head.status == 200)
    withExtendedLifetime(server) {}
  }

  @Test func `while browsers follow, a token that is revoked ends their events, so that they sign in`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    // Another token than the first one, which the BFF gives out again after a reset.
    _ = try await Browser(server, user: "1")
    let revoked = try await Browser(server, user: "0")
    var events = try revoked.events("timelines/0/events").filter { $0.type != "beat" }.values.makeAsyncIterator()
    _ = try await events.next()
    try await bff.reset()
    // Another device of the user changes what they share.
    #expect(try await Browser(server, user: "0").send(.put, "timelines/0/likes/m0-1").head.status == 204)
    while let event = try await events.next() {
      #expect(event.data?.contains(#""isOffline":true"#) == false)
    }
    #expect(try await revoked.send(.get, "timelines/0").head.status == 401)
    withExtendedLifetime(server) {}
  }

  @Test func `a like costs as many queries with many browsers of its user as with one`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    var followers: [AsyncValues<ServerSentEvent>.AsyncIterator] = []
    for _ in 0..<12 {
      let pages = try await Browser(server, user: "0").events("timelines/0/events").filter { $0.type != "beat" }
      var events = pages.values.makeAsyncIterator()
      _ = try await events.next()
      followers.append(events)
    }
    let before = try await bff.count(of: "Timeline")
    let device = try await Browser(server, user: "0")
    #expect(try await device.send(.put, "timelines/0/likes/m0-1").head.status == 204)
    for index in followers.indices {
      var isLiked = false
      while !isLiked, let event = try await followers[index].next() {
        let moments = try JSONCoder().decode(TimelinePage.self, from: Data((event.data ?? "").utf8)).moments
        isLiked = moments.first { $0.id == "m0-1" }?.isLiked == true
      }
      #expect(isLiked)
    }
    #expect(try await bff.count(of: "Timeline") - before <= 4)
    withExtendedLifetime(server) {}
  }

  @Test func `of two users in one browser, the one that a request names counts`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let (zero, one) = (try await Browser(server, user: "0"), try await Browser(server, user: "1"))
    let both = zero.with(one)
    #expect(try await both.send(.put, "timelines/0/likes/m0-2?as=1").head.status == 204)
    let likes = try await page(both.send(.get, "timelines/0?as=0")).moments.first { $0.id == "m0-2" }?.likes
    #expect(likes?.contains { $0.id == "1" } == true)
    #expect(try await both.send(.get, "timelines/0?as=2").head.status == 401)
    withExtendedLifetime(server) {}
  }

  @Test func `a path may be percent-encoded, each GET has its HEAD, and health needs no backend`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    let browser = try await Browser(server, user: "0")
    #expect(try await browser.send(.put, "timelines/0/likes/m0%2D3").head.status == 204)
    let head = try await browser.send(.head, "timelines/0")
    #expect(head.head.status == 200)
    #expect(head.body.isEmpty)
    try await bff.kill()
    #expect(try await Browser(server.url).send(.get, "health").head.status == 200)
    withExtendedLifetime(server) {}
  }

  @Test func `each response has a policy, is taken for what it says, and tells other pages nothing`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let (browser, stranger) = (try await Browser(server, user: "0"), Browser(server.url))
    let responses = [
      (200, try await stranger.send(.get, "/")), (200, try await stranger.send(.get, "page.js")),
      (200, try await stranger.send(.get, "page.css")), (200, try await stranger.send(.get, "health")),
      (200, try await browser.send(.get, "timelines/0")), (204, try await stranger.send(.post, "login?user=0")),
      (401, try await stranger.send(.get, "timelines/0")), (400, try await browser.send(.get, "timelines/0?page=0")),
      (404, try await stranger.send(.get, "none")),
    ]
    for (status, response) in responses {
      #expect(response.head.status == status)
      let headers = response.head.headers
      let policy = headers["Content-Security-Policy"] ?? ""
      for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        #expect(policy.contains(part))
      }
      #expect(!policy.contains("unsafe"))
      #expect(headers["X-Content-Type-Options"] == "nosniff")
      #expect(headers["Referrer-Policy"] == "no-referrer")
      #expect(headers["Cross-Origin-Resource-Policy"] == "same-origin")
    }
    #expect(responses[1].1.head.headers["Content-Type"] == "text/javascript; charset=utf-8")
    #expect(responses[2].1.head.headers["Content-Type"] == "text/css; charset=utf-8")
    #expect(responses[4].1.head.headers["Cache-Control"] == "no-store")
    withExtendedLifetime(server) {}
  }

  @Test func `a browser hears of the server also while nothing changes, and follows the page that it wants`()
    async throws
  {
    let server = try await Server(BFF("--auth", "graphql"))
    var events = try await Browser(server, user: "0").events("timelines/0/events?page=2").values.makeAsyncIterator()
    let first = try #require(try await events.next()?.data)
    #expect(try JSONCoder().decode(TimelinePage.self, from: Data(first.utf8)).moments.first?.id == "m0-20")
    var types: Set<String> = []
    while !types.contains("beat"), let event = try await events.next() { types.insert(event.type) }
    #expect(types.contains("beat"))
    withExtendedLifetime(server) {}
  }

  @Test func `a slow backend is not waited for once a timeline is in memory`() async throws {
    let server = try await Server(BFF("--latency-ms", "500"), ["STALE_TIME": "0"])
    let browser = try await Browser(server, user: "0")
    _ = try await page(browser.send(.get, "timelines/0"))
    var times: [Duration] = []
    for _ in 0..<300 {
      let start = ContinuousClock.now
      _ = try await page(browser.send(.get, "timelines/0"))
      times.append(.now - start)
    }
    #expect(times.sorted()[297] < .milliseconds(250))
    withExtendedLifetime(server) {}
  }

  @Test func `SIGTERM ends the server in order, also while a browser follows events`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Browser(server, user: "0")
    let events = try browser.events("timelines/0/events").values
    var count = 0
    for try await _ in events {
      count += 1
      if count == 1 { server.program.terminate() }
    }
    #expect(count >= 1)
    #expect(try await server.program.status == 0)
  }

  @Test func `SIGTERM ends the server also while a browser does not take what it is sent`() async throws {
    let bff = try await BFF()
    let server = try await Server(bff)
    let session = PostPhotoSession(client: try APIClient(baseURL: bff.url, transport: SocketTransport()))
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
    try Data("photo".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let title = String(repeating: "long ", count: 100_000)
    _ = try await session.postPhoto(.file(file, contentType: "image/png"), title: title, userID: "0").value
    let browser = try await Browser(server, user: "0")
    let deaf = try Program.python("deaf_browser.py", ["\(server.url.port ?? 0)", browser.cookie ?? ""])
    _ = try await deaf.line { $0 == "connected" }
    // More than the system keeps for a connection.
    for index in 0..<24 {
      let response = try await browser.send(index % 2 == 0 ? .put : .delete, "timelines/0/likes/m0-1")
      #expect(response.head.status == 204)
    }
    let start = ContinuousClock.now
    server.program.terminate()
    #expect(try await server.program.status == 0)
    #expect(ContinuousClock.now - start < .seconds(20))
    withExtendedLifetime(deaf) {}
  }

  @Test func `SIGTERM under load ends the server within its limit, and no response is cut`() async throws {
    let server = try await Server(BFF())
    let browser = try await Browser(server, user: "0")
    let (responses, arrivals) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<32 {
        group.addTask {
          while true {
            do {
              let response = try await browser.send(.get, "timelines/0")
              #expect(response.head.status == 200)
              arrivals.yield()
            } catch let error as RequestError {
              // A connection that the server has closed; a response that has begun is never cut.
              #expect(error.kind == .cannotConnect || error.reached != .rejected && error.status == nil)
              return arrivals.finish()
            }
          }
        }
      }
      var count = 0
      for await _ in responses {
        count += 1
        if count == 100 { break }
      }
      #expect(count == 100)
      server.program.terminate()
      try await group.waitForAll()
    }
    let start = ContinuousClock.now
    #expect(try await server.program.status == 0)
    #expect(ContinuousClock.now - start < .seconds(15))
  }
}
