public import Foundation
public import HTTP
public import Streams

extension APIClient {
  /// Sends a session's request with a method: a cold stream of one element, as ``APISession`` says.
  ///
  ///     client.send(AddPhoto(photo), method: .post) { progress in … }
  ///
  /// `onProgress` is called as `HTTPRequest.onProgress` is, for the upload and the download; when the request is sent
  /// again, the counts start over.
  public func send<Session: APISession>(
    _ session: Session, method: HTTPMethod, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) -> Observable<Session.ResponseType> {
    guard !interceptors.isEmpty else { return answer(to: session, method, onProgress) }
    let answer: @Sendable (Session) -> Observable<Session.ResponseType> = { self.answer(to: $0, method, onProgress) }
    let chain = interceptors.reversed().reduce(answer) { next, interceptor in
      { session in interceptor.intercept(session, next: next) }
    }
    return .deferred { chain(session) }
  }

  /// Sends a session's request, and writes the response's body into a file: a cold stream of the response's head.
  ///
  ///     client.download(GetPhoto(id: "7"), to: file).subscribe(onNext: { head in … })
  ///
  /// The file appears only once it is complete; if the download fails, the target stays as it was (see
  /// `download(to:upTo:)` in the module HTTP). The session's parser and the interceptors are not used, and `limit`
  /// replaces `responseBodyLimit`.
  ///
  /// The client's timeouts, middlewares and observer apply. The default total of 60 seconds ends with the response's
  /// head, so that a large file may take longer; one that was set holds to the end. The idle timeout ends a download
  /// that stalls.
  ///
  /// `onProgress` is called as `HTTPRequest.onProgress` is; when the request is sent again, the counts start over.
  ///
  /// Fails with a `RequestError` that names the operation: `httpStatus` or `redirectRefused` if the status is not a
  /// success, `tooLarge`, or `cannotWrite` if the file cannot be written.
  public func download(
    _ session: some APISession, method: HTTPMethod = .get, to file: URL, upTo limit: Int = .max,
    onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
  ) -> Observable<HTTPResponseHead> {
    .deferred {
      try exchange(session, method, onProgress, isDownload: true) { parts, _ in parts.download(to: file, upTo: limit) }
    }
  }

  private func answer<Session: APISession>(
    to session: Session, _ method: HTTPMethod, _ onProgress: (@Sendable (HTTPProgress) -> Void)?
  ) -> Observable<Session.ResponseType> {
    .deferred {
      try exchange(session, method, onProgress) { parts, sent in
        let (parser, isSecret) = (session.responseParser, session.isResponseSecret)
        return parts.collect(upTo: responseBodyLimit).map { [decoder] response in
          do throws(RequestError) {
            return sent.described(try parser.parse(response, by: decoder))
          } catch {
            throw error.about(response, quoting: isSecret ? nil : sent.redactor.excerpt(of: response.body))
          }
        }
      }
    }
  }

  /// Sends a session's request; `read` turns the response's parts into the output.
  private func exchange<Output>(
    _ session: some APISession, _ method: HTTPMethod, _ onProgress: (@Sendable (HTTPProgress) -> Void)?,
    isDownload: Bool = false, read: (Observable<HTTPResponsePart>, SentFields) -> Observable<Output>
  ) throws -> Observable<Output> {
    let sent = SentFields(of: session)
    do {
      var request = try request(of: session, method)
      request.headers = request.headers.adding(defaults: defaultHeaders)
      request.secrets = sent.secrets
      request.readsWholeResponse = true
      request.isDownload = isDownload
      request.onProgress = onProgress ?? request.onProgress
      guard let observer else { return exchange(request, noting: sent, read: read) }
      let observation = RequestObservation(observer, &request, scheduler: ConcurrentScheduler())
      return observation.watch(exchange(request, noting: sent, read: read), isSingle: true)
    } catch {
      throw sent.described(error)
    }
  }

  private func exchange<Output>(
    _ request: HTTPRequest, noting sent: SentFields,
    read: (Observable<HTTPResponsePart>, SentFields) -> Observable<Output>
  ) -> Observable<Output> {
    // Middlewares may fail before the innermost one is reached, so the request is recorded here, too.
    sent.note(request)
    let middlewares: [any HTTPMiddleware] = middlewares.isEmpty ? [] : middlewares + [sent]
    return read(transport.send(request, through: middlewares), sent).catch { .error(sent.described($0)) }
  }

  private func request(of session: some APISession, _ method: HTTPMethod) throws -> HTTPRequest {
    var request: HTTPRequest
    do {
      request = try session.makeRequest(method, for: self)
      if let key = session.idempotencyKey { try request.setIdempotencyKey(key) }
      if let timeouts = session.timeouts { request.timeouts = timeouts }
    } catch let error as EncodingError {
      throw RequestError(.invalidRequest, "The parameters cannot be written: \(DecodingFailure(error))")
    }
    if request.target !== target { try checkCleartext(request.target) }
    return request
  }
}

extension RequestError {
  /// The error with the status of the response and, if that helps, the start of its body.
  fileprivate func about(_ response: HTTPResponse, quoting excerpt: @autoclosure () -> String?) -> RequestError {
    var error = self
    error.status = status ?? response.head.status
    if !response.head.isSuccess { error.retryAfter = retryAfter ?? response.head.retryAfter(now: Date()) }
    if [.httpStatus, .undecodable].contains(kind) { error.excerpt = excerpt() }
    return error
  }
}
