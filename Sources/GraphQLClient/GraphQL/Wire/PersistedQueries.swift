import HTTPClientCore
import HTTPMiddlewares
package import Streams
import SystemBase

/// What is known of a server's automatic persisted queries: shared by the copies of a client.
package final class PersistedQueries: Sendable {
  private enum Support {
    case unknown, confirmed, off
  }

  private struct State {
    var support = Support.unknown
    /// How often in a row a hash failed and its document did not, and until when no other hash is sent.
    var failureCount = 0
    var pausedUntil = Duration.zero
    /// Hashes that the server did not know when it was last asked.
    var missed: Set<String> = []
  }

  private static let backoff = Backoff(initial: .seconds(60), maximum: .seconds(3600), jitter: 0)

  fileprivate let scheduler: any Scheduler
  private let state = Locked(State())

  package init(scheduler: some Scheduler = ConcurrentScheduler()) {
    self.scheduler = scheduler
  }

  /// Whether no hashes are sent, for good or for now.
  var isOff: Bool {
    let now = scheduler.now
    return state.withLock { $0.support == .off || $0.support == .unknown && now < $0.pausedUntil }
  }

  fileprivate var isUnknown: Bool { state.withLock { $0.support == .unknown } }

  fileprivate func turnOff() { state.withLock { $0.support = .off } }

  /// Sends no hashes for a while, unless the server has taken one meanwhile: it may know nothing of them, or it may have
  /// failed for another reason.
  fileprivate func pauseIfUnknown() {
    let now = scheduler.now
    state.withLock { state in
      guard state.support == .unknown, now >= state.pausedUntil else { return }
      state.failureCount += 1
      state.pausedUntil = now + Self.backoff.delay(after: state.failureCount)
    }
  }

  fileprivate func recordMiss(of hash: String) {
    state.withLock { state in
      state.support = .confirmed
      // More than these are sent through caches on the way like any other.
      if state.missed.count < 1024 { state.missed.insert(hash) }
    }
  }

  fileprivate func recordHit(of hash: String) {
    state.withLock { state in
      if state.support == .unknown { state.support = .confirmed }
      state.missed.remove(hash)
    }
  }

  fileprivate func wasMissed(_ hash: String) -> Bool { state.withLock { $0.missed.contains(hash) } }
}

/// Sends a request that has a hash in the place of its document and, if the server does not know that, the request with
/// the document: once, and within the first one's deadline. Outside all middlewares, so that each of the two is retried,
/// authorised and cached by itself.
struct PersistedQueryExchange: Sendable {
  let queries: PersistedQueries
  let hash: String

  /// The request by `POST`, with the document, and with the hash beside it if the server is to keep it.
  let whole: @Sendable (_ withHash: Bool) throws -> HTTPRequest

  private enum Verdict {
    /// The server knows the hash.
    case known
    /// It does not, but will keep the document.
    case missing
    /// It says that it keeps none.
    case unsupported
    /// It failed, perhaps since it knows nothing of hashes.
    case suspect
    /// It failed before it looked at the document.
    case unrelated
  }

  func send(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let scheduler = queries.scheduler
      let start = scheduler.now
      var first = request
      // A cache on the way may have kept the response that the hash is not known: this makes it ask the server.
      if request.method == .get, !request.headers.contains("Cache-Control"), queries.wasMissed(hash) {
        first.headers = first.headers.adding(defaults: ["Cache-Control": "no-cache"])
      }
      return next(first)
        .held {
          $0.isJSON || $0.mediaType == nil || $0.status == 400 || $0.status == 500
        } refusal: { response, isWhole in
          switch isWhole ? verdict(on: response, to: request) : .known {
          case .known:
            if response.head.isSuccess { queries.recordHit(of: hash) }
            return nil
          case .unrelated: return nil
          case .missing, .unsupported, .suspect: return RefusedResponse(response)
          }
        }
        .catch { error in
          guard let response = (error as? RefusedResponse)?.response else { throw error }
          let verdict = verdict(on: response, to: request)
          switch verdict {
          case .missing: queries.recordMiss(of: hash)
          case .unsupported: queries.turnOff()
          case .known, .suspect, .unrelated: break
          }
          var second = try request.replacingContent(by: whole(verdict == .missing))
          second.timeouts = request.timeouts.after(scheduler.now - start)
          request.context.entry?.recordStep()
          guard verdict == .suspect else { return next(second) }
          return next(second).held {
            $0.isSuccess && $0.isJSON
          } refusal: { response, _ in
            if response.body.errorsWithoutData(naming: "errors").isEmpty { queries.pauseIfUnknown() }
            return nil
          }
        }
    }
  }

  private func verdict(on response: HTTPResponse, to request: HTTPRequest) -> Verdict {
    let named =
      response.body.errorsWithoutData(naming: "ersisted") + response.body.errorsWithoutData(naming: "ERSISTED")
    // What has a path is from inside the result, as a gateway passes on what one of its own servers has not known.
    guard named.allSatisfy(\.path.isEmpty) else { return .known }
    for error in named {
      if error.code == "PERSISTED_QUERY_NOT_FOUND" || error.message == "PersistedQueryNotFound" { return .missing }
      if error.code == "PERSISTED_QUERY_NOT_SUPPORTED" || error.message == "PersistedQueryNotSupported" {
        return .unsupported
      }
      if error.code?.hasPrefix("PERSISTED_QUERY") == true { return .known }
    }
    // By a server that never saw a hash, the request is incomplete; some say so with status 200.
    guard queries.isUnknown, request.isReplayable, request.idempotencyKey == nil else { return .known }
    let errors = response.body.errorsWithoutData(naming: "errors")
    let others = GraphQLErrors.throttlingCodes + [GraphQLError.unauthenticatedCode, "FORBIDDEN"]
    if errors.contains(where: { others.contains($0.code ?? "") }) { return .unrelated }
    switch response.head.status {
    case 400, 422, 500: return .suspect
    case 200: return errors.isEmpty ? .known : .suspect
    default: return .known
    }
  }
}

extension HTTPRequest {
  /// The request with the method, the URL and the body of another one, for the same operation.
  fileprivate func replacingContent(by other: HTTPRequest) throws -> HTTPRequest {
    var request = try to(other.url, method: other.method)
    request.headers = headers.adding(defaults: other.headers)
    request.body = other.body
    request.upload = other.upload
    return request
  }
}
