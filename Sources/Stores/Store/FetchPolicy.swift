/// When a read uses the cache and when the network; the cases are named as in Apollo.
public enum FetchPolicy: String, CaseIterable, Sendable {
  /// The cached value; the network if there is none, or if it is stale.
  case cacheFirst

  /// The cached value, even if it is stale; then the store refreshes it in a request of its own, which continues though
  /// the reader leaves (RFC 5861, section 3). The network if there is none.
  case staleWhileRevalidate

  /// The network; the cached value if that fails.
  case networkFirst

  /// The network only; the response is cached.
  case networkOnly

  /// The cached value only; no request is made.
  case cacheOnly

  /// The cached value at once, then the network's response.
  case cacheAndNetwork

  /// The network only; the response is not cached.
  case noCache
}

extension FetchPolicy {
  /// When the cache is read.
  @usableFromInline enum CacheRead: Sendable { case never, beforeNetworkFetch, onNetworkFailure }

  /// When a request is made.
  @usableFromInline enum NetworkFetch: Sendable { case never, always, onCacheMiss, inBackground }

  @inlinable var cacheRead: CacheRead {
    switch self {
    case .cacheFirst, .staleWhileRevalidate, .cacheOnly, .cacheAndNetwork: .beforeNetworkFetch
    case .networkFirst: .onNetworkFailure
    case .networkOnly, .noCache: .never
    }
  }

  @inlinable var networkFetch: NetworkFetch {
    switch self {
    case .cacheFirst: .onCacheMiss
    case .staleWhileRevalidate: .inBackground
    case .networkFirst, .networkOnly, .cacheAndNetwork, .noCache: .always
    case .cacheOnly: .never
    }
  }

  /// Whether a response is cached.
  var cachesResponse: Bool { self != .noCache }
}
