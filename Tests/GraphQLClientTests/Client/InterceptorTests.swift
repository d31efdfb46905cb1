import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import Streams
import SystemBase
import Testing

@Suite struct InterceptorTests {
  /// Knows the answers to users alone, and treats these by a closure.
  private struct Users: SessionInterceptor {
    let treat: @Sendable (@escaping @Sendable () -> Observable<User>) -> Observable<User>

    func intercept<Session: APISession>(
      _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
    ) -> Observable<Session.ResponseType> {
      guard let session = session as? GetUser, let next = next as? @Sendable (GetUser) -> Observable<User>,
        let answer = treat({ next(session) }) as? Observable<Session.ResponseType>
      else { return next(session) }
      return answer
    }
  }

  /// Notes its name on the way out and on the way back.
  private struct Note: SessionInterceptor {
    let name: String
    let log: Locked<[String]>

    func intercept<Session: APISession>(
      _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
    ) -> Observable<Session.ResponseType> {
      log.withLock { $0.append("\(name) \(session.operationName)") }
      return next(session).do(onNext: { answer in log.withLock { $0.append("\(name) \(type(of: answer))") } })
    }
  }

  private enum CodeMsgData: EnvelopeKeys {
    static let code = "code"
    static let message = "msg"
    static let content = "data"
  }

  private struct GetName: APISession {
    typealias ResponseType = String
    let responseParser = ResponseParser<String>.envelope(CodeMsgData.self)
  }

  /// Signs in, and asks again, where an envelope's code says that one must.
  private struct SignInAgain: SessionInterceptor {
    let signIn: @Sendable () -> Observable<Void>

    func intercept<Session: APISession>(
      _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
    ) -> Observable<Session.ResponseType> {
      next(session).catch { error in
        guard ((error as? RequestError)?.cause as? EnvelopeFailure)?.code == "1001" else { throw error }
        return signIn().flatMap { next(session) }
      }
    }
  }

  private let transport = ScriptedTransport(always: .json(#"{"id": 7, "name": "Wei"}"#))

  @Test func `interceptors see typed responses, the first outermost`() async throws {
    let log = Locked<[String]>([])
    let notes = ["a", "b"].map { Note(name: $0, log: log) }
    _ = try await GetUser().get(on: client(transport, interceptors: notes)).value
    #expect(log.withLock { $0 } == ["a GetUser", "b GetUser", "b User", "a User"])
  }

  @Test func `interceptors run for each subscriber, and not before`() async throws {
    let log = Locked<[String]>([])
    let user = GetUser().get(on: try client(transport, interceptors: [Note(name: "a", log: log)]))
    #expect(log.withLock { $0 } == [])
    _ = try await user.value
    _ = try await user.value
    #expect(log.withLock { $0 } == ["a GetUser", "a User", "a GetUser", "a User"])
  }

  @Test func `an interceptor may replace the response`() async throws {
    let users = Users { next in next().map { User(id: $0.id, name: "Replaced") } }
    #expect(try await GetUser().get(on: client(transport, interceptors: [users])).value.name == "Replaced")
  }

  @Test func `an interceptor may respond without sending`() async throws {
    let users = Users { _ in .just(User(name: "Cached")) }
    #expect(try await GetUser().get(on: client(transport, interceptors: [users])).value.name == "Cached")
    #expect(transport.requests.isEmpty)
  }

  @Test func `an interceptor may turn the response into an error`() async throws {
    let users = Users { next in next().map { _ in throw RequestError(.cancelled, "Not now.") } }
    #expect(await GetUser().get(on: try client(transport, interceptors: [users])).failure?.message == "Not now.")
  }

  @Test func `an interceptor may delay the response`() async throws {
    let gate = PublishSubject<Void>()
    let users = Users { next in next().flatMap { user in gate.asObservable().take(1).map { user } } }
    let answers = Locked<[User]>([])
    let subscription = GetUser().get(on: try client(transport, interceptors: [users])).subscribe(
      onNext: { answer in answers.withLock { $0.append(answer) } })
    #expect(transport.requests.count == 1)
    #expect(answers.withLock { $0 } == [])
    gate.onNext(())
    #expect(answers.withLock { $0 } == [User()])
    subscription.dispose()
  }

  @Test func `an envelope's code makes an interceptor sign in and ask again`() async throws {
    let transport = ScriptedTransport()
    transport.expect(.any, .json(#"{"code": 1001, "msg": "sign in", "data": null}"#))
    transport.expect(.any, .json(#"{"code": 0, "msg": "ok", "data": "Wei"}"#))
    let signIns = Locked(0)
    let signInAgain = SignInAgain {
      .deferred {
        signIns.withLock { $0 += 1 }
        return .just(())
      }
    }
    #expect(try await GetName().get(on: client(transport, interceptors: [signInAgain])).value == "Wei")
    #expect(signIns.withLock { $0 } == 1)
    #expect(transport.requests.count == 2)
    #expect(transport.failures == [])
  }

  @Test func `other failures pass an interceptor that does not know them`() async throws {
    let transport = ScriptedTransport(always: .json(#"{"code": 7, "msg": "no"}"#))
    let signInAgain = SignInAgain { .error(CancellationError()) }
    let error = await GetName().get(on: try client(transport, interceptors: [signInAgain])).failure
    #expect(error?.kind == .rejected)
    #expect(transport.requests.count == 1)
  }
}
