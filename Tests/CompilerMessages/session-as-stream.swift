// A session that is subscribed to, or awaited, without a client.
// message: a session is no stream: subscribe to session.data(on: client), or to a verb, such as get(on: client)
// message: a session is no stream: write try await session.data(on: client).value, or a verb, such as get(on: client)

import GraphQLClient
import Streams

func load(_ session: GetUser, _ client: APIClient, _ bag: DisposeBag) async throws {
  #if CORRECT
    session.data(on: client).subscribe(onNext: { data in print(data.user) }).disposed(by: bag)
    print(try await session.data(on: client).value.user)
  #else
    session.subscribe(onNext: { response in print(response.data) }).disposed(by: bag)
    print(try await session.value)
  #endif
}
