import HTTPClientCore
public import HTTPMiddlewares
import StrictJSON
import SystemBase

extension RateLimitSignal {
  /// What `http` recognises, and a GraphQL response of any status, without data, with an error that means throttling: the
  /// code `THROTTLED` (Shopify), `RATE_LIMITED` (also as `type`, GitHub's), `RATE_LIMIT_EXCEEDED` or `TOO_MANY_REQUESTS`.
  ///
  /// The time to wait is that of `Retry-After`, or the error's `extensions.retryAfter` in seconds, or what it takes
  /// Shopify's bucket to hold the cost of the query, by `extensions.cost`; else that of the `ratelimit` fields.
  ///
  /// A mutation one of whose errors is from inside its result may have been carried out, so `RequestError.reached` is
  /// `maybe`, unless the status itself refuses the request. If a document has several mutations, the response cannot tell
  /// whether others were carried out before the one that was refused: send such mutations one by one.
  public static let graphQL = RateLimitSignal.http.or(
    RateLimitSignal {
      $0.isJSON
    } refusalAt: { response, now in
      // Most responses hold none of the codes, and are not parsed twice.
      guard !response.body.beginsWithData, GraphQLErrors.throttlingCodes.contains(where: { response.body.holds($0) }),
        let body = try? Throttled(json: response.body.bytes), body.isThrottled
      else { return nil }
      let limit = RateLimit(response.head.headers, now: now())
      var refusal = Refusal(retryAfter: response.head.retryAfter(now: now()) ?? body.wait, limit: limit)
      refusal.mayFollowEffects = body.mayFollowEffects
      return refusal
    })
}

extension GraphQLErrors {
  /// The codes by which servers say that a request came too soon.
  static let throttlingCodes = ["THROTTLED", "RATE_LIMITED", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"]
}

/// What a throttled response says.
private struct Throttled: JSONDecodable {
  var isThrottled = false
  /// Whether an error is from inside a result, which came after something was carried out.
  var mayFollowEffects = false
  var wait: Duration?

  init(from json: inout JSONReader) throws(JSONError) {
    let envelope = try json.read(JSONValue.self)
    if let data = envelope["data"], data != .null { return }
    guard let errors = envelope["errors"]?.arrayValue else { return }
    for error in errors {
      if let path = error["path"]?.arrayValue, path.count > 1 { mayFollowEffects = true }
      guard let code = error["extensions"]?["code"]?.stringValue ?? error["type"]?.stringValue,
        GraphQLErrors.throttlingCodes.contains(where: { $0.hasBytes(of: code) })
      else { continue }
      isThrottled = true
      if let seconds = error["extensions"]?["retryAfter"]?.numberValue { wait = .seconds(min(max(seconds, 0), 1e6)) }
    }
    guard wait == nil, let cost = envelope["extensions"]?["cost"], let needed = cost["requestedQueryCost"]?.numberValue,
      let bucket = cost["throttleStatus"], let available = bucket["currentlyAvailable"]?.numberValue,
      let rate = bucket["restoreRate"]?.numberValue, rate > 0
    else { return }
    wait = .seconds(min(max((needed - available) / rate, 0), 1e6))
  }
}
