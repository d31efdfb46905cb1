public import HTTPClientCore

// What the middlewares of this module add to requests, for a cache outside of them.

extension AuthMiddleware {
  /// The token of the request's account, unless the request has its field already.
  public var addedCredentials: AddedCredentials { .token(of: accounts) }
}

extension CacheMiddleware {
  /// Nothing that tells whose a request is.
  public var addedCredentials: AddedCredentials { .cache }
}

extension CircuitBreakerMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension ConcurrencyLimitMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension DeadlineMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension DefaultHeadersMiddleware {
  /// The fields that it was made with.
  public var addedCredentials: AddedCredentials { .fields(headers) }
}

extension HedgingMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension LoggingMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension ObservingMiddleware {
  /// What an observer adds to a request as it begins is for traces.
  public var addedCredentials: AddedCredentials { .none }
}

extension RateLimitMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}

extension RedirectMiddleware {
  /// Nothing; it reports the redirects that it follows.
  public var addedCredentials: AddedCredentials { .none }
}

extension RetryMiddleware {
  /// Nothing.
  public var addedCredentials: AddedCredentials { .none }
}
