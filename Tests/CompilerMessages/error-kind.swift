// The kind of an error that is looked for on the type, or on any error.
// message: type 'RequestError' has no member 'timedOut'
// message: value of type 'any Error' has no member 'kind'

import GraphQLClient
import HTTPClientCore
import Streams

func load(_ session: GetUser, _ client: APIClient, _ bag: DisposeBag) async throws {
  #if CORRECT
    do {
      print(try await session.data(on: client).value)
    } catch let error as RequestError where error.kind == .timedOut {
      print("too late")
    }
    session.data(on: client).subscribe(onError: { error in print(RequestError(wrapping: error).kind) })
      .disposed(by: bag)
  #else
    do {
      print(try await session.data(on: client).value)
    } catch RequestError.timedOut {
      print("too late")
    }
    session.data(on: client).subscribe(onError: { error in print(error.kind) }).disposed(by: bag)
  #endif
}
