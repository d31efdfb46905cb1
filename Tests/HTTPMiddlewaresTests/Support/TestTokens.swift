import HTTPClientCore
import HTTPMiddlewares
import Streams
import Synchronization

/// Gives tokens t1, t2 and so on, as the test lets it.
final class TestTokens: TokenProvider {
  let tokens: InMemoryTokenProvider
  private let answers = Mutex<[PublishSubject<AccessToken>]>([])
  private let afterRead = Mutex<(reads: Int, action: @Sendable () -> Void)?>(nil)

  init(_ token: AccessToken?) {
    tokens = InMemoryTokenProvider(token) { _ in .never() }
  }

  var currentToken: AccessToken? {
    let token = tokens.currentToken
    let action: (@Sendable () -> Void)? = afterRead.withLock { after in
      after?.reads -= 1
      return after?.reads == 0 ? after.take()?.action : nil
    }
    action?()
    return token
  }

  var refreshCount: Int { answers.withLock { $0.count } }

  func refresh(replacing old: AccessToken?) -> Observable<AccessToken> {
    .deferred {
      let subject = PublishSubject<AccessToken>()
      self.answers.withLock { $0.append(subject) }
      return subject.asObservable()
    }
  }

  /// Does something when the present token has been read so often, once, and before the reader has it.
  func onceRead(times reads: Int = 1, _ action: @escaping @Sendable () -> Void) {
    afterRead.withLock { $0 = (reads, action) }
  }

  func succeed(with token: AccessToken) {
    tokens.setToken(token)
    succeed(refreshCount - 1, with: token)
  }

  /// Ends one of the refreshes, counted from 0, and leaves the present token as it is.
  func succeed(_ refresh: Int, with token: AccessToken) {
    let subject = answers.withLock { $0[refresh] }
    subject.onNext(token)
    subject.onCompleted()
  }

  /// Completes the last refresh without a token.
  func complete() {
    answers.withLock { $0.last }?.onCompleted()
  }

  func fail(_ error: any Error) {
    answers.withLock { $0.last }?.onError(error)
  }

  /// Lets one of the refreshes fail, counted from 0.
  func fail(_ refresh: Int, _ error: any Error) {
    answers.withLock { $0[refresh] }.onError(error)
  }
}
