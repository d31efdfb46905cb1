public import SystemBase

/// A request that a transport can send as it is.
public struct HTTPRequest: Sendable {
  /// The method.
  public var method: HTTPMethod {
    @inlinable _read { yield message.value.method }
  }

  /// The address: an absolute `http` or `https` URL with a host.
  public var url: URL { target.url }

  /// The path and the query as they are sent, such as `/a%2Fb?q=1`, for signatures (RFC 9112, section 3.2.1).
  public var requestTarget: String { target.path }

  /// The parts of the URL.
  package internal(set) var target: HTTPTarget {
    @inlinable _read { yield message.value.target }
    _modify { yield &message.value.target }
  }

  /// The header fields. The transport adds those that frame the message, `Host` and `Content-Length`.
  public var headers: HTTPHeaders {
    @inlinable _read { yield message.value.headers }
    @inlinable _modify { yield &message.value.headers }
  }

  /// The whole body, if there is one.
  public var body: Data? {
    @inlinable _read { yield message.value.body }
    @inlinable _modify { yield &message.value.body }
  }

  /// The body in the place of ``body``, if it is not to be in memory as a whole. Not every transport can send it: one that
  /// cannot fails with `invalidRequest`. The default total deadline counts from when it has been sent.
  public var upload: HTTPUpload? {
    get { message.value.carried.value.upload }
    set { message.value.carried.value.upload = newValue }
  }

  /// The deadlines.
  public var timeouts: HTTPTimeouts {
    @inlinable _read { yield message.value.timeouts }
    @inlinable _modify { yield &message.value.timeouts }
  }

  /// The name of the operation that this request carries, for errors, logs and metrics.
  public var operationName: String? {
    @inlinable _read { yield message.value.operationName }
    @inlinable _modify { yield &message.value.operationName }
  }

  /// Whether it may be sent again although the first attempt may have been carried out: unless set, if its method
  /// ``HTTPMethod/isSafe``.
  ///
  /// `PUT` and `DELETE` are idempotent, too (RFC 9110, section 9.2.2), but a repetition may undo what somebody else has
  /// done in between, or report that there is nothing to delete; so they have to be declared, as does a `POST`.
  public var isReplayable: Bool {
    get { message.value.declaredReplayable ?? method.isSafe }
    set { message.value.declaredReplayable = newValue }
  }

  /// What the operation does, for logs, metrics and traces; `nil` for a request that is not GraphQL's.
  public var operationType: OperationType? {
    @inlinable _read { yield message.value.operationType }
    @inlinable _modify { yield &message.value.operationType }
  }

  /// What an operation of GraphQL does.
  public enum OperationType: String, Sendable {
    case query, mutation, subscription
  }

  /// Whether its response is of use only once it is complete, so that a middleware may hold it back and, if it is cut
  /// off, request it again. `nil`, the default, means: if it is JSON. Set it to `false` to read JSON as it arrives, and
  /// to `true` to have other responses asked for again, too.
  public var readsWholeResponse: Bool? {
    @inlinable _read { yield message.value.readsWholeResponse }
    @inlinable _modify { yield &message.value.readsWholeResponse }
  }

  /// Whether the response goes into a file, which may take long.
  package var isDownload: Bool {
    @inlinable _read { yield message.value.isDownload }
    @inlinable _modify { yield &message.value.isDownload }
  }

  /// Whether its response is read for long, as that of an event stream or a subscription's multipart is: it does not use up
  /// the places of requests, see `SocketTransport.Configuration.maximumStreamsPerOrigin`.
  package var isStream: Bool {
    @inlinable _read { yield message.value.isStream }
    @inlinable _modify { yield &message.value.isStream }
  }

  /// Whether it changes nothing although its method may, as a query or a subscription of GraphQL by `POST`.
  package var onlyReads: Bool {
    @inlinable _read { yield message.value.onlyReads }
    @inlinable _modify { yield &message.value.onlyReads }
  }

  /// Called by the transport when the request has its connection; `isReused` says whether that has carried a request
  /// before. It must not block.
  public var onConnected: (@Sendable (_ isReused: Bool) -> Void)? {
    get { message.value.carried.value.onConnected }
    set { message.value.carried.value.onConnected = newValue }
  }

  /// Called with the head of each interim response (RFC 9110, section 15.2), such as 103 with early hints, before the
  /// parts of the final one; `nil` by default, which costs nothing. Several calls may overlap. Only `SocketTransport`
  /// calls it. A response with status 101 is an error.
  public var onInterimResponse: (@Sendable (HTTPResponseHead) -> Void)? {
    get { message.value.carried.value.onInterimResponse }
    set { message.value.carried.value.onInterimResponse = newValue }
  }

  /// Called with the progress of the exchange: one call at a time, on a queue of the transport's. Progress during a
  /// call is reported by the next one. A middleware is a good place to set it.
  public var onProgress: (@Sendable (HTTPProgress) -> Void)? {
    get { message.value.carried.value.onProgress }
    set { message.value.carried.value.onProgress = newValue }
  }

  /// Called for each attempt of a request that an observer follows, before ``RequestEvent/attemptStarted(_:)``, with its
  /// number and the request as the transport gets it, after all middlewares. It may change header fields, where a tracer
  /// puts the context of the attempt's own span; what else it changes is not sent. The response to an attempt with another
  /// field that may tell whose it is, as any of an unknown name, is stored in no cache. Set it in
  /// ``RequestObserver/begin(_:)``. Calls may overlap, since a slow request may be sent a second time in parallel; it
  /// must not block.
  public var onAttempt: (@Sendable (_ number: Int, _ request: inout HTTPRequest) -> Void)? {
    get { message.value.carried.value.onAttempt }
    set { message.value.carried.value.onAttempt = newValue }
  }

  /// What it carries for middlewares and transports.
  package var context: RequestContext {
    @inlinable _read { yield message.value.carried.value.context }
    @inlinable _modify { yield &message.value.carried.value.context }
  }

  /// The message, and what the client knows of it.
  @usableFromInline
  struct Message: Sendable {
    @usableFromInline var method: HTTPMethod
    @usableFromInline var target: HTTPTarget
    @usableFromInline var headers: HTTPHeaders
    @usableFromInline var body: Data?
    @usableFromInline var timeouts: HTTPTimeouts
    @usableFromInline var operationName: String?
    @usableFromInline var declaredReplayable: Bool?
    @usableFromInline var operationType: OperationType?
    @usableFromInline var readsWholeResponse: Bool?
    @usableFromInline var isDownload = false
    @usableFromInline var isStream = false
    @usableFromInline var onlyReads = false

    /// Behind a reference of its own: most middlewares pass it on as it is.
    @usableFromInline var carried = Carried.nothing
  }

  /// Behind one reference, since a request is copied at each step of its way.
  @usableFromInline var message: CopyOnWrite<Message>

  /// What most requests leave empty, and most middlewares pass on as it is.
  @usableFromInline
  struct Carried: Sendable {
    @usableFromInline var context = RequestContext()
    var upload: HTTPUpload?
    var onConnected: (@Sendable (Bool) -> Void)?
    var onInterimResponse: (@Sendable (HTTPResponseHead) -> Void)?
    var onProgress: (@Sendable (HTTPProgress) -> Void)?
    var onAttempt: (@Sendable (Int, inout HTTPRequest) -> Void)?

    fileprivate static let nothing = CopyOnWrite(Carried())
  }

  /// Makes a request.
  ///
  /// Throws `invalidRequest` for a URL that is not absolute, is neither `http` nor `https`, has no host, or contains a
  /// user name, a password or a fragment: credentials belong in headers, which logs redact. If `isReplayable` is `nil`,
  /// the method decides, see ``isReplayable``.
  public init(
    method: HTTPMethod, url: URL, headers: HTTPHeaders = HTTPHeaders(), body: Data? = nil,
    timeouts: HTTPTimeouts = HTTPTimeouts(), operationName: String? = nil, isReplayable: Bool? = nil
  ) throws(RequestError) {
    self.init(
      method: method, target: try HTTPTarget(url), headers: headers, body: body, timeouts: timeouts,
      operationName: operationName, isReplayable: isReplayable)
  }

  /// Makes a request to a URL that has been checked and parsed already.
  package init(
    method: HTTPMethod, target: HTTPTarget, headers: HTTPHeaders, body: Data?, timeouts: HTTPTimeouts,
    operationName: String?, isReplayable: Bool?
  ) {
    message = CopyOnWrite(
      Message(
        method: method, target: target, headers: headers, body: body, timeouts: timeouts, operationName: operationName,
        declaredReplayable: isReplayable))
  }
}

extension HTTPRequest {
  /// The request with another URL and, if given, another method: for a middleware that chooses between servers.
  /// Observers and budgets still see one request, and its secrets stay secret. The header fields are kept: remove
  /// credentials that are not meant for the other origin.
  ///
  /// Throws `invalidRequest` for the URLs that the initialiser refuses.
  public func to(_ url: URL, method: HTTPMethod? = nil) throws(RequestError) -> HTTPRequest {
    var request = self
    request.target = try HTTPTarget(url)
    request.message.value.method = method ?? self.method
    return request
  }

  /// The request with nobody who follows it, for the same accounts: for one that a middleware sends by itself.
  package var withoutObservers: HTTPRequest {
    var request = self
    request.context = RequestContext(secrets: context.secrets, sent: context.sent)
    request.context.entry = context.entry.map { RequestEntry($0.accounts) }
    (request.onConnected, request.onInterimResponse, request.onProgress) = (nil, nil, nil)
    request.onAttempt = nil
    return request
  }

  /// The address as logs and traces may show it: without the values of its query, and without the request's secrets.
  public var shownURL: String {
    let sent = context.sent ?? SentSecrets(declared: context.secrets)
    sent.add(self)
    return sent.redactor.redact(url.shownSafely)
  }

  /// Whether it cannot be read on the way: it is sent over TLS, or stays on this machine.
  public var isConfidential: Bool { target.isSecure || target.isLoopback }

  /// The value of `Idempotency-Key`, by which a server recognises a request that it has already carried out
  /// (draft-ietf-httpapi-idempotency-key-header).
  public var idempotencyKey: String? { headers["Idempotency-Key"] }

  /// Declares the request idempotent: it may be sent again, and the server, which must support such keys, carries it
  /// out once. All attempts carry this key, so it must be as unique as a UUID. It is sent as it is; to a server that
  /// follows the draft to the letter, give it in quotes. Throws `invalidRequest` if it is not valid as a header value.
  public mutating func setIdempotencyKey(_ key: String) throws(RequestError) {
    try headers.set("Idempotency-Key", to: key)
    isReplayable = true
  }

  /// Whether the total deadline stops counting with this head, for a transport or a middleware that keeps it: if the
  /// total is the default one, the status means success, and the response is read as it arrives
  /// (``readsWholeResponse``), or is an `APIClient`'s download.
  public func mayOutlastTotal(_ head: HTTPResponseHead) -> Bool { reading.mayOutlastTotal(head) }

  /// Whether the response with this head is of use before it is complete, and so may be read for long.
  package func isReadAsItArrives(_ head: HTTPResponseHead) -> Bool { reading.readsAsItArrives(head) }

  /// How its response is read.
  package var reading: Reading {
    Reading(isDownload: isDownload, readsWholeResponse: readsWholeResponse, isTotalSet: timeouts.isTotalSet)
  }

  /// How a response is read, for what outlives the request.
  package struct Reading: Sendable {
    let isDownload: Bool
    let readsWholeResponse: Bool?
    let isTotalSet: Bool

    func readsAsItArrives(_ head: HTTPResponseHead) -> Bool {
      head.isSuccess && (isDownload || !(readsWholeResponse ?? head.isJSON))
    }

    /// Whether the total deadline stops counting with this head.
    package func mayOutlastTotal(_ head: HTTPResponseHead) -> Bool { !isTotalSet && readsAsItArrives(head) }
  }

  /// The size of the body in bytes; `nil` if it is not known beforehand.
  public var bodyCount: Int? { body?.count ?? (upload.map(\.count) ?? 0) }

  /// The length to announce; one of 0 only if the method normally has a body (RFC 9110, section 8.6).
  package var announcedCount: Int? {
    bodyCount.flatMap { $0 > 0 || method == .post || method == .put || method == .patch ? $0 : nil }
  }

  /// Whether the default total deadline does not count from the start: for an upload, which may take long.
  package var mayOutlastTotal: Bool { upload != nil && !timeouts.isTotalSet }

  /// Throws `invalidRequest` if a header would frame the message, or is about the connection or a proxy. Only the
  /// transport may do that: request smuggling relies on disagreement about where a body ends (RFC 9112, section 11.2).
  ///
  /// Throws it for an ``upload``, too, unless the transport sends uploads, which it says by `sendsUploads`; and for one
  /// beside a body. Throws `timedOut` if the time of the request is over, so that nobody waits for its response; else it
  /// counts as sent from now on, for those who have to know whether it may have reached a server.
  public func checkFraming(sendsUploads: Bool = false) throws(RequestError) {
    try checkFields(sendsUploads: sendsUploads)
    try recordHandover()
  }

  /// What ``checkFraming(sendsUploads:)`` checks, for a transport that tracks what it sends.
  package func checkFields(sendsUploads: Bool) throws(RequestError) {
    if upload != nil {
      guard sendsUploads else {
        throw RequestError(
          .invalidRequest, "This transport sends bodies from memory alone: use SocketTransport for an upload.",
          operationName: operationName, cause: WrongSettings())
      }
      guard body == nil else {
        throw RequestError(
          .invalidRequest, "The request has a body and an upload: give one of them.", operationName: operationName)
      }
    }
    guard let name = headers.framingName else { return }
    throw RequestError(
      .invalidRequest, "The header '\(name)' is the transport's to set: take it out of the request.",
      operationName: operationName)
  }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method, the address without the values of its query, and the size of the body.
  public var description: String { "\(method) \(url.shownSafely), \(bodyCountText)" }

  /// The size of the body for people.
  package var bodyCountText: String { bodyCount.map { "\($0) bytes" } ?? "a stream" }

  /// What a debugger and `String(reflecting:)` show: no secrets either.
  public var debugDescription: String { description }

  /// What `dump` shows: the same as `description`.
  public var customMirror: Mirror { Mirror(self, children: [(label: "request", value: description)]) }
}

/// The progress of an exchange, in bytes of the bodies as they are transferred.
public struct HTTPProgress: Hashable, Sendable {
  /// How much of the request's body the system has accepted; it may still be on its way to the server.
  public var sent = 0

  /// The size of the request's body; `nil` if it is not known beforehand.
  public var totalToSend: Int?

  /// How much of the response's body has arrived, before decompression.
  public var received = 0

  /// The size of the response's body before decompression, if the server has announced it.
  public var totalToReceive: Int?

  /// Makes a progress at which nothing has been transferred yet.
  public init(totalToSend: Int? = 0) {
    self.totalToSend = totalToSend
  }
}
