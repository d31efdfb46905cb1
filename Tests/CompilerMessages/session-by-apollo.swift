// A session that is sent by the client's methods, as in Apollo iOS.
// message: write query.data(on: client), which is a stream
// message: write query.data(on: client).subscribe(onNext:onError:)
// message: write mutation.data(on: client), which is a stream

import GraphQLClient
import Streams

func load(_ query: GetUser, _ mutation: RenameUser, _ client: APIClient, _ bag: DisposeBag) async throws {
  #if CORRECT
    print(try await query.data(on: client).value.user)
    query.data(on: client).subscribe(onNext: { print($0) }, onError: { print($0) }).disposed(by: bag)
    print(try await mutation.data(on: client).value.user)
  #else
    print(try await client.fetch(query: query).value.user)
    client.fetch(query: query) { result in print(result) }
    print(try await client.perform(mutation: mutation).value.user)
  #endif
}
