// A closure that changes a model of the main actor, an object that is not Sendable, or a variable.
// message: main actor-isolated property 'users' can not be mutated from a Sendable closure
// message: capture of 'self' with non-Sendable type 'Cache?' in a '@Sendable' closure
// message: mutation of captured var 'count' in concurrently-executing code

import GraphQLClient
import Streams
import Synchronization

@MainActor final class Model {
  private var users: [User] = []

  func show(_ stream: Observable<User>, _ bag: DisposeBag) {
    #if CORRECT
      let task = Task { for try await user in stream.values { users.append(user) } }
      Disposables.create { task.cancel() }.disposed(by: bag)
    #else
      stream.observe(on: .main).subscribe(onNext: { user in self.users.append(user) }).disposed(by: bag)
    #endif
  }
}

#if CORRECT
  final class Cache: Sendable {
    private let user = Mutex<User?>(nil)
    func keep(_ stream: Observable<User>, _ bag: DisposeBag) {
      stream.subscribe(onNext: { [weak self] user in self?.user.withLock { $0 = user } }).disposed(by: bag)
    }
  }
#else
  final class Cache {
    private var user: User?
    func keep(_ stream: Observable<User>, _ bag: DisposeBag) {
      stream.subscribe(onNext: { [weak self] user in self?.user = user }).disposed(by: bag)
    }
  }
#endif

func number(_ stream: Observable<User>, _ bag: DisposeBag) {
  #if CORRECT
    stream.scan(0) { count, _ in count + 1 }.subscribe(onNext: { print($0) }).disposed(by: bag)
  #else
    var count = 0
    stream.subscribe(onNext: { _ in count += 1 }).disposed(by: bag)
  #endif
}
