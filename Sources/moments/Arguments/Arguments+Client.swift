import HTTP
import Networking

extension Arguments {
  /// Throws where a header of the command line is the transport's to set.
  func checkHeaders() throws(UsageError) {
    guard let endpoint else { return }
    do throws(RequestError) {
      try HTTPRequest(method: .post, url: endpoint.url, headers: HTTPHeaders(headers)).checkFraming()
    } catch {
      throw UsageError("--header: \(error.message)")
    }
  }

  /// A client that sends to an endpoint as the arguments say.
  func client(for endpoint: Endpoint) throws(RequestError) -> APIClient {
    var client = try APIClient(
      baseURL: endpoint.url, transport: transport.transport(), defaultHeaders: .platform(name: "moments"),
      allowsCleartext: allowsCleartext)
    var outermost: [any HTTPMiddleware] = [GivenHeadersMiddleware(fields: headers)]
    var logging: [any HTTPMiddleware] = []
    if isVerbose {
      let log: @Sendable (String) -> Void = { Output.standardError.say($0.harmless()) }
      logging = [LoggingMiddleware(detail: .headers, log: log)]
      client.observer = AttemptLog(log: log)
    }
    if let timeout {
      // The other deadlines must not come before the one that was asked for.
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
