// A closure of a mutation that changes its argument, a mutation of a key, and a request by async code.
// message: cannot convert value of type '()' to closure result type 'User?'
// message: write mutate(.of(key) { value in … }) { … }, or, without a request, update(key) { … }
// message: to parameter expecting synchronous function type

import GraphQLClient
import Stores
import Streams

func rename(_ store: Store<String, User>, _ client: APIClient, _ bag: DisposeBag) async throws {
  let session = RenameUser(variables: .init(id: "7", name: "Mei"))
  #if CORRECT
    store.mutate(.of("7") { $0.map { User(id: $0.id, name: "Mei") } }) { session.data(on: client).map(\.user) }
      .subscribe(onError: { print($0) }).disposed(by: bag)
    await store.update("7") { $0.name = "Mei" }
    _ = try await store.mutate(.of("7") { $0 }) { .async { try await session.data(on: client).value.user } }.value
  #else
    store.mutate(.of("7") { $0.name = "Mei" }) { session.data(on: client).map(\.user) }
      .subscribe(onError: { print($0) }).disposed(by: bag)
    store.mutate("7") { $0.name = "Mei" }
    _ = try await store.mutate(.of("7") { $0 }) { try await session.data(on: client).value.user }.value
  #endif
}
