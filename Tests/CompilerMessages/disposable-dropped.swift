// A subscription that nobody can end.
// message: result of call to 'subscribe(onNext:onError:onCompleted:onDisposed:)' is unused

import GraphQLClient
import Streams

func load(_ session: GetUser, _ client: APIClient, _ bag: DisposeBag) {
  #if CORRECT
    session.data(on: client).subscribe(onNext: { data in print(data.user) }).disposed(by: bag)
  #else
    session.data(on: client).subscribe(onNext: { data in print(data.user) })
  #endif
}
