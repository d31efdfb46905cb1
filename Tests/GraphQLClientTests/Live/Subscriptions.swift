import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import Streams
import TestSupport

/// Numbers down to 0.
struct Countdown: GraphQLSubscription {
  struct Variables: Encodable, Sendable {
    var start: Int
    var delayMs = 0
    var failAt: GraphQLNullable<Int> = .absent
  }
  struct ResponseData: Decodable, Hashable, Sendable {
    let countdown: Int
  }
  static let query: GraphQLDocument = """
    subscription countdown($start: Int!, $delayMs: Int! = 10, $failAt: Int) {
      countdown(start: $start, delayMs: $delayMs, failAt: $failAt)
    }
    """
  var variables: Variables
  var errorPolicy = GraphQLErrorPolicy.none
  var buffering = LiveBuffering.dropOldest()

  init(_ start: Int, delayMs: Int = 0, failAt: GraphQLNullable<Int> = .absent) {
    variables = Variables(start: start, delayMs: delayMs, failAt: failAt)
  }
}

/// Likes of a user's moments.
struct Liked: GraphQLSubscription {
  struct Variables: Encodable, Sendable {
    let userID: String
  }
  struct ResponseData: Decodable, Hashable, Sendable {
    struct Moment: Decodable, Hashable, Sendable {
      struct Liker: Decodable, Hashable, Sendable {
        let id: String
      }
      let id: String
      let likes: [Liker]
    }
    let momentLiked: Moment
  }
  static let query: GraphQLDocument =
    "subscription liked($userID: ID!) { momentLiked(userID: $userID) { id likes { id } } }"
  let variables: Variables

  init(userID: String) {
    variables = Variables(userID: userID)
  }
}

/// Sets or removes a like, without a word about the timeline.
struct SetLike: GraphQLSession {
  struct Variables: Encodable, Sendable {
    let momentID: String
    let userID: String
    let isLiked: Bool
  }
  struct ResponseData: Decodable, Sendable {
    struct Details: Decodable, Sendable {
      struct User: Decodable, Sendable {
        let id: String
      }
      let userDetails: User
    }
    let updateMomentLike: Details
  }
  static let query: GraphQLDocument = """
    mutation setLike($momentID: ID!, $userID: ID!, $isLiked: Boolean!) {
      updateMomentLike(momentID: $momentID, userID: $userID, isLiked: $isLiked) { userDetails { id } }
    }
    """
  let variables: Variables
}

/// What an observer has seen.
final class Seen<Element: Sendable>: Sendable {
  struct State: Sendable {
    var elements: [Element] = []
    var error: RequestError?
    var isCompleted = false
    var isEnded: Bool { isCompleted || error != nil }
  }

  let state = Monitor(State())
  private let bag = DisposeBag()

  var elements: [Element] { state.value.elements }

  init(_ stream: Observable<Element>, onNext: @escaping @Sendable (Element) -> Void = { _ in }) {
    bag.insert(
      stream.subscribe(
        onNext: { [state] element in
          state.update { $0.elements.append(element) }
          onNext(element)
        },
        onError: { [state] error in state.update { $0.error = RequestError(wrapping: error) } },
        onCompleted: { [state] in state.update { $0.isCompleted = true } }))
  }

  func dispose() { bag.dispose() }
}
