// Closures of operators that return a value in the place of a stream, or await.
// message: generic parameter 'Result' could not be inferred
// message: cannot pass function of type '@Sendable (String) async throws -> User' to parameter expecting synchronous

import GraphQLClient
import Streams

func users(_ ids: Observable<String>, _ load: @escaping @Sendable (String) async throws -> User) {
  #if CORRECT
    let made = ids.map { User(id: $0, name: "") }
    let loaded = ids.flatMap { id in .async { try await load(id) } }
  #else
    let made = ids.flatMap { User(id: $0, name: "") }
    let loaded = ids.map { id in try await load(id) }
  #endif
  _ = (made, loaded)
}
