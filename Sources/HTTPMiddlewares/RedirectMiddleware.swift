public import HTTPClientCore
public import Streams
import SystemBase

/// Follows redirects within one origin. Without this middleware, redirects are refused.
///
/// These redirects fail with `redirectRefused`, and nothing is sent there: to another origin, which includes one from
/// https to http; one over the limit; and one without a usable address. After 307 and 308 the method and the body are
/// kept; after 303, and after 301 and 302 if the method is POST, the next request is a GET without a body (RFC 9110,
/// section 15.4), except that HEAD stays HEAD. Each request gets what is left of the first one's total deadline.
///
/// Place it outside an ``AuthMiddleware``, never inside, so that each request on the way is an exchange with a token of
/// its own. Otherwise, a challenge after a redirect would be taken for one to the first request, which has been carried
/// out by then.
public struct RedirectMiddleware: HTTPMiddleware, SendingByNext {
  private let limit: Int
  private let scheduler: any Scheduler

  /// Takes how many redirects in a row to follow, 5 by default, and the scheduler whose clock measures the time.
  public init(limit: Int = 5, scheduler: some Scheduler = ConcurrentScheduler()) {
    self.limit = limit
    self.scheduler = scheduler
  }

  /// Passes the request on, and follows the server's redirects.
  public func intercept(
    _ request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    follow(request, left: limit, next: next)
  }

  private func follow(
    _ request: HTTPRequest, left: Int, next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) -> Observable<HTTPResponsePart> {
    .deferred {
      let start = scheduler.now
      return next(request)
        .held(where: { $0.isRedirect }, refusal: { response, _ in RefusedResponse(response) })
        .catch { error in
          guard let redirect = (error as? RefusedResponse)?.response.head else { throw error }
          guard left > 0 else {
            throw refusal(of: request, redirect, "there were \(limit) redirects before it")
          }
          let becomesGet = request.becomesGet(by: redirect)
          var redirected = try redirected(request, by: redirect, becomesGet: becomesGet)
          redirected.timeouts = request.timeouts.after(scheduler.now - start)
          request.context.onRedirect?()
          request.context.entry?.recordStep()
          request.context.sent?.add(redirected.url, namedBy: request)
          request.context.observation?.report(.redirected(redirect.status))
          let response = follow(redirected, left: left - 1, next: next).catch { error in
            var failure = RequestError(wrapping: error)
            // The request had reached the server before it was redirected, and been carried out if its result is elsewhere.
            if failure.reached == .never || becomesGet { failure.reached = .maybe }
            throw failure
          }
          guard becomesGet, !request.mayBeSentAgain(after: .maybe) else { return response }
          return response.map { part in
            if case .head(let head) = part { try checkIsOfResult(head, of: request) }
            return part
          }
        }
    }
  }

  /// Throws for a status that would say of a request that it was not carried out, and is about that for its result.
  private func checkIsOfResult(_ head: HTTPResponseHead, of request: HTTPRequest) throws(RequestError) {
    var error = RequestError(
      .httpStatus, "The request was redirected to its result, for which the server has status \(head.status).",
      operationName: request.operationName, status: head.status)
    guard error.reached == .rejected else { return }
    error.reached = .maybe
    throw error
  }

  private func redirected(
    _ request: HTTPRequest, by head: HTTPResponseHead, becomesGet: Bool
  ) throws(RequestError) -> HTTPRequest {
    guard let location = head.headers.values(of: "Location").first, !location.isEmpty,
      let url = URL(string: location, relativeTo: request.url)?.absoluteURL.withoutFragment
    else { throw refusal(of: request, head, "it has no valid address") }
    var redirected: HTTPRequest
    do {
      redirected = try request.to(url, method: becomesGet ? .get : nil)
    } catch {
      throw refusal(of: request, head, "its address is not valid for a request")
    }
    guard redirected.origin == request.origin else {
      throw refusal(of: request, head, "it leads to '\(redirected.origin)'")
    }
    guard becomesGet || request.mayBeSentAgain(after: .rejected) else {
      throw refusal(of: request, head, "the request's body can be read only once")
    }
    if becomesGet {
      redirected.body = nil
      redirected.upload = nil
      for name in ["Content-Type", "Content-Encoding", "Content-Language", "Content-Location"] {
        redirected.headers.remove(name)
      }
    }
    return redirected
  }

  private func refusal(of request: HTTPRequest, _ head: HTTPResponseHead, _ reason: String) -> RequestError {
    RequestError(
      .redirectRefused,
      // Its path may be one that a server has made, with a token in it.
      "The redirect of a request to '\(request.origin)' (\(head.status)) is not followed: \(reason).",
      operationName: request.operationName, status: head.status)
  }
}

extension HTTPRequest {
  /// Whether a redirect leads to its result, for a GET.
  fileprivate func becomesGet(by redirect: HTTPResponseHead) -> Bool {
    redirect.status == 303 ? method != .head : redirect.status < 303 && method == .post
  }
}

extension URL {
  fileprivate var withoutFragment: URL? {
    var components = URLComponents(url: self, resolvingAgainstBaseURL: true)
    components?.fragment = nil
    return components?.url
  }
}
