// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import GraphQLClient
import Streams

enum IncrementalDeliveryArticle {
  struct GetTimeline: GraphQLSession {
    struct Variables: Encodable, Sendable { let userID: String }
    struct ResponseData: Decodable, Sendable { let getMomentsDetailsByUserID: Timeline }
    struct Timeline: Decodable, Sendable { let moments: [Moment] }
    struct Moment: Decodable, Sendable { let id: String, stats: Deferred<Stats> }
    struct Stats: Decodable, Sendable { let viewCount: Int? }
    static let query: GraphQLDocument = """
      query timeline($userID: ID!) {
        getMomentsDetailsByUserID(userID: $userID) {
          moments @stream(initialCount: 5) { id ... @defer(label: "stats") { viewCount } }
        }
      }
      """
    let variables: Variables
  }

  static func watch(
    on client: APIClient, bag: DisposeBag, show: @escaping @Sendable (String, String) -> Void
  ) {
    GetTimeline(variables: .init(userID: "1")).responses(on: client).subscribe(onNext: { response in
      for moment in response.data.getMomentsDetailsByUserID.moments {
        switch moment.stats {
        case .pending: show(moment.id, "…")
        case .ready(let stats): show(moment.id, "\(stats.viewCount ?? 0) views")
        case .failed(let errors): show(moment.id, errors.first?.message ?? "unknown")
        }
      }
    }).disposed(by: bag)
  }
}
