// A stream that is awaited itself: nothing is sent.
// message: no 'async' operations occur within 'await' expression
// message: value of type 'Observable<GetUser.ResponseData>' has no member 'user'
// message: for-in loop requires 'Observable<GetUser.ResponseData>' to conform to 'AsyncSequence'

import GraphQLClient
import Streams

func load(_ session: GetUser, _ client: APIClient) async throws {
  #if CORRECT
    let data = try await session.data(on: client).value
    print(data.user)
    for try await data in session.data(on: client).values { print(data.user) }
  #else
    let data = try await session.data(on: client)
    print(data.user)
    for try await data in session.data(on: client) { print(data.user) }
  #endif
}
