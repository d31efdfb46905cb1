// A stream that is awaited as if it could not fail.
// message: property access can throw, but it is not marked with 'try' and the error is not handled
// message: call can throw, but the error is not handled

import GraphQLClient
import Streams

func load(_ session: GetUser, _ client: APIClient) {
  #if CORRECT
    Task {
      do {
        for try await data in session.data(on: client).values { print(data.user) }
        print(try await session.data(on: client).value.user)
      } catch {
        print(error)
      }
    }
  #else
    Task { for await data in session.data(on: client).values { print(data.user) } }
    Task { print(await session.data(on: client).value.user) }
  #endif
}
