import BFFOperations
import Foundation
import GraphQLClient
import HTTPClientCore
import HTTPMiddlewares
import Streams
import TestSupport

/// Subscriptions by every protocol, under tokens that live a second, through a relay that cuts all connections every few
/// seconds, and a proxy behind it that refuses some, and cuts, resets, silences and slows others amid what they carry:
/// whether each like is seen once and in order, or its absence was reported.
///
/// The likes are those of new moments, whose ids count up: so a like that is missing shows.
struct LiveWatch: Sendable {
  struct Counts: Sendable {
    var likes = 0
    var cuts = 0
    var values = 0
    var gaps = 0
    /// Likes that came twice, or after a later one.
    var doubled = 0
    /// Likes that are missing without a gap before the next one.
    var lost = 0
    /// Why a subscription ended, if one did.
    var failure: String?
    /// The number of subscriptions that saw the last like.
    var upToDate = 0
    /// What the proxy did, by kind.
    var faults: [String: Int] = [:]
  }

  private struct Position: Sendable {
    var last: Int?
    var hasGap = true
  }

  private let server: BFFServer
  private let proxy: FaultyProxy
  private let relay: CuttingRelay
  private let counts = Monitor(Counts())
  private let bag = DisposeBag()
  private let seed: Int

  init(before server: BFFServer, seed: Int) async throws {
    self.server = server
    self.seed = seed
    proxy = try await FaultyProxy(before: server, rate: 0.4, seed: seed)
    relay = try CuttingRelay(to: proxy.port)
  }

  func run(until end: ContinuousClock.Instant) async throws -> Counts {
    var settings = LiveSettings.persistent
    settings.pauses = Backoff(initial: .milliseconds(50), maximum: .milliseconds(500))
    // Likes come all the time, so a second without one is a long silence.
    (settings.dial, settings.acknowledgement) = (.seconds(2), .seconds(2))
    (settings.silence, settings.pong, settings.streamSilence) = (.seconds(1), .seconds(1), .seconds(2))
    let positions = (0..<3).map { _ in Monitor(Position()) }
    let ways: [any LiveTransport] = [.webSocket(settings: settings), .eventStream(settings), .multipart(settings)]
    for (way, position) in zip(ways, positions) { try subscribe(by: way, position) }
    var writer = try APIClient(baseURL: server.graphqlURL)
    try writer.defaultHeaders.set("Authorization", to: "Bearer valid-token")
    var random = SplitMix(seed: UInt64(seed))
    var nextCut = ContinuousClock.now + .seconds(2)
    var last = 0
    while ContinuousClock.now < end {
      last = try await likeNewMoment(on: writer)
      counts.update { $0.likes += 1 }
      if ContinuousClock.now > nextCut {
        relay.cutAll()
        counts.update { $0.cuts += 1 }
        nextCut = .now + .milliseconds(Int.random(in: 500...4_000, using: &random))
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    // One more that all of them have to see, once they are connected again.
    for position in positions {
      for _ in 0..<300 where (position.value.last ?? 0) < last {
        last = try await likeNewMoment(on: writer)
        try await Task.sleep(for: .milliseconds(100))
      }
      if (position.value.last ?? 0) > 0 { counts.update { $0.upToDate += 1 } }
    }
    bag.dispose()
    let faults = try await proxy.stop()
    counts.update { $0.faults = faults }
    return counts.value
  }

  private func subscribe(by way: any LiveTransport, _ position: Monitor<Position>) throws {
    let logins = try APIClient(baseURL: server.graphqlURL)
    let tokens = InMemoryTokenProvider { _ in
      LogIn().post(on: logins).map { response in
        let token = response.data.login
        return AccessToken(token.accessToken, expiresAt: token.expiresAt)
      }
    }
    guard let url = URL(string: "http://127.0.0.1:\(relay.port)/graphql") else { return }
    var client = try APIClient(baseURL: url, middlewares: .standard(tokens: tokens))
    client.graphQL.live = way
    NewLikes().subscribe(on: client).subscribe(
      onNext: { [counts] event in
        switch event {
        case .connected, .resumed, .disconnected: break
        case .reconnected, .dropped, .failed:
          position.update { $0.hasGap = true }
          counts.update { $0.gaps += 1 }
        case .value(let response):
          let number = response.data.number
          let (last, hasGap) = position.update { position in
            defer { position = Position(last: number, hasGap: false) }
            return (position.last, position.hasGap)
          }
          counts.update { counts in
            counts.values += 1
            guard let last else { return }
            if number <= last { counts.doubled += 1 }
            if number > last + 1, !hasGap { counts.lost += 1 }
          }
        }
      },
      onError: { [counts] error in counts.update { $0.failure = "\(error)" } },
      onCompleted: { [counts] in counts.update { $0.failure = "completed" } }
    ).disposed(by: bag)
  }

  /// Adds a moment, and likes it; returns its number.
  private func likeNewMoment(on client: APIClient) async throws -> Int {
    let created = try await NewMoment().data(on: client).value.createMoment.id
    _ = try await LikeMoment(variables: .init(momentID: created)).data(on: client).value
    return momentNumber(created)
  }
}

/// The number in an id such as `m3-17`.
private func momentNumber(_ id: String) -> Int { id.split(separator: "-").last.flatMap { Int($0) } ?? 0 }

private struct Identified: Decodable, Sendable {
  let id: String
}

private struct NewLikes: GraphQLSubscription {
  struct ResponseData: Decodable, Sendable {
    fileprivate let momentLiked: Identified
    var number: Int { momentNumber(momentLiked.id) }
  }
  static let query: GraphQLDocument = "subscription newLikes { momentLiked(userID: \"3\") { id } }"
}

private struct NewMoment: GraphQLSession {
  struct ResponseData: Decodable, Sendable {
    fileprivate let createMoment: Identified
  }
  static let query: GraphQLDocument = """
    mutation newMoment { createMoment(input: {userID: "3", url: "https://example.com/"}) { id } }
    """
}

private struct LikeMoment: GraphQLSession {
  struct Variables: Encodable, Sendable {
    let momentID: String
  }
  struct ResponseData: Decodable, Sendable {
    struct Details: Decodable, Sendable {
      fileprivate let userDetails: Identified
    }
    fileprivate let updateMomentLike: Details
  }
  static let query: GraphQLDocument = """
    mutation likeMoment($momentID: ID!) {
      updateMomentLike(momentID: $momentID, userID: "4", isLiked: true) { userDetails { id } }
    }
    """
  let variables: Variables
}
