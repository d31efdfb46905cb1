// A store whose key is not Hashable.
// message: type 'GetUser.Variables' does not conform to protocol 'Hashable'

import GraphQLClient
import Stores
import Streams

func store(_ client: APIClient) {
  #if CORRECT
    let store = Store<String, User>(.ofStream { GetUser(variables: .init(id: $0)).data(on: client).map(\.user) })
  #else
    let store = Store<GetUser.Variables, User>(.ofStream { GetUser(variables: $0).data(on: client).map(\.user) })
  #endif
  _ = store
}
