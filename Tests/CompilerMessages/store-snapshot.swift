// A snapshot that is taken for the value in it.
// message: cannot convert value of type 'Snapshot<User>' to specified type 'User'

import Stores
import Streams

func load(_ store: Store<String, User>) async throws {
  #if CORRECT
    let user: User = try await store.cached("7").value
    let optional: User? = try await store.get("7").value.value
    print(user, optional ?? user)
  #else
    let user: User = try await store.get("7").value
    print(user)
  #endif
}
