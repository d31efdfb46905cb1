// A store whose closure returns a stream where async code is expected.
// message: a closure that returns a stream is .ofStream: write Store(.ofStream { key in … })
// message: 'of' has been renamed to 'ofStream(_:)'

import GraphQLClient
import Stores
import Streams

func stores(_ client: APIClient) -> [Store<String, User>] {
  #if CORRECT
    [
      Store(.ofStream { id in GetUser(variables: .init(id: id)).data(on: client).map(\.user) }),
      Store { id in try await GetUser(variables: .init(id: id)).data(on: client).value.user },
    ]
  #else
    [
      Store { id in GetUser(variables: .init(id: id)).data(on: client).map(\.user) },
      Store(.of { id in GetUser(variables: .init(id: id)).data(on: client).map(\.user) }),
    ]
  #endif
}
