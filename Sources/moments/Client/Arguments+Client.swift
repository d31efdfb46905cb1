import HTTP
import HTTPMiddlewares
import Networking

extension Arguments {
  /// Throws if a header of the command line is one that the transport sets.
  func checkHeaders() throws(UsageError) {
    guard let endpoint else { return }
    do throws(RequestError) {
      try HTTPRequest(method: .post, url: endpoint.url, headers: HTTPHeaders(headers)).checkFraming()
    } catch {
      throw UsageError("--header: \(error.message)")
    }
  }

  /// A client for an endpoint, configured by the arguments.
  func client(for endpoint: Endpoint) throws(RequestError) -> APIClient {
    var client = try APIClient(
      baseURL: endpoint.url, transport: transport.transport(),
      defaultHeaders: .platform(name: "moments", version: HTTPHeaders.sdkVersion),
      allowsCleartext: allowsCleartext)
    var outermost: [any HTTPMiddleware] = [GivenHeadersMiddleware(fields: headers)]
    var logging: [any HTTPMiddleware] = []
    if isVerbose {
      let log: @Sendable (String) -> Void = { Output.standardError.say($0.sanitized()) }
      logging = [LoggingMiddleware(detail: .headers, log: log)]
      client.observer = AttemptLog(log: log)
    }
    if let timeout {
      // Other timeouts must not fire before the requested one.
      client.timeouts = HTTPTimeouts(connect: nil, idle: nil, total: timeout)
      outermost.append(RunDeadline(after: timeout))
    }
    var tokens: RefreshedTokens?
    if let refreshToken {
      client.middlewares = outermost + logging
      tokens = RefreshedTokens(token, refreshToken: refreshToken, client: client)
    } else if let token {
      try client.defaultHeaders.set("Authorization", to: token.authorization)
    }
    client.middlewares = outermost + .standard(tokens: tokens, retries: retries) + logging
    return client
  }
}
