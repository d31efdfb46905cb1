// A subscription that is posted, and a GraphQL operation that is sent with PUT.
// message: A subscription has many responses: use subscribe(on:) or data(on:)
// message: GraphQL is sent with post(on:), or with get(on:) if it is a query

import GraphQLClient
import Streams

func load(_ query: GetUser, _ client: APIClient) async throws {
  #if CORRECT
    for try await data in UserChanged().data(on: client).values { print(data.user) }
    print(try await query.data(on: client).value.user)
  #else
    for try await response in UserChanged().post(on: client).values { print(response.data.user) }
    print(try await query.put(on: client).value.data.user)
  #endif
}
