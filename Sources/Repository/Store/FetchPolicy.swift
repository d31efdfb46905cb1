/// What a read takes from the cache and what from the network; the names are Apollo's.
public enum FetchPolicy: String, CaseIterable, Sendable {
  /// The kept value; the network if there is none, or if it is stale.
  case cacheFirst

  /// The network; the kept value if that fails.
  case networkFirst

  /// The network alone; the answer is kept.
  case networkOnly

  /// The kept value alone; no request is made.
  case cacheOnly

  /// The kept value at once, then the network's response.
  case cacheAndNetwork

  /// The network alone; the answer is not kept.
  case noCache
}

extension FetchPolicy {
  /// When the cache is read.
  @usableFromInline enum CacheRead: Sendable { case never, beforeNetworkFetch, onNetworkFailure }

  /// When the network is asked.
  @usableFromInline enum NetworkFetch: Sendable { case never, always, onCacheMiss }

  @inlinable var cacheRead: CacheRead {
    switch self {
    case .cacheFirst, .cacheOnly, .cacheAndNetwork: .beforeNetworkFetch
    case .networkFirst: .onNetworkFailure
    case .networkOnly, .noCache: .never
    }
  }

  @inlinable var networkFetch: NetworkFetch {
    switch self {
    case .cacheFirst: .onCacheMiss
    case .networkFirst, .networkOnly, .cacheAndNetwork, .noCache: .always
    case .cacheOnly: .never
    }
  }

  /// Whether an answer of the network is kept.
  var keepsAnswer: Bool { self != .noCache }
}
