public import HTTP
public import Networking
import Streams

/// A server's response as a store takes it: a value, and what is missing from it.
public struct Fetched<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value

  /// What went wrong besides. A response with errors is partial, and never replaces a complete one.
  public var errors: [any Error]

  /// Makes a response, which is complete unless there are errors.
  public init(_ value: Value, errors: [any Error] = []) {
    self.value = value
    self.errors = errors
  }
}

extension Fetched {
  /// A GraphQL response: partial if it has errors beside the data. Throws as `GraphQLResponse.requireData()` does if it
  /// has no data.
  public init(_ response: GraphQLResponse<Value>) throws(RequestError) {
    self.init(try response.requireData())
    do {
      _ = try response.applying(.none)
    } catch {
      errors = [error]
    }
  }
}

/// A request under way, and the readers that want its response.
@usableFromInline
struct Fetch<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A read that waits for one response.
  struct Waiter: Sendable {
    let policy: FetchPolicy
    let answer: @Sendable (Result<KeyState<Key, Value>, any Error>) -> Void
  }

  let id: UInt64
  let subscription = DisposeBag()
  /// The ids of the readers and watchers that keep the request alive: it is cancelled when the last one leaves.
  var claims: Set<UInt64> = []
  var waiters: [UInt64: Waiter] = [:]
  /// Whether at least one of them wants the response kept.
  var keepsAnswer = false
  /// Whether the response may lack a change that the server has made since the request began.
  var mayBeOutdated = false
}

/// A cached value and its metadata.
@usableFromInline
struct CachedValue<Value: Sendable>: Sendable {
  @usableFromInline var value: Value
  @usableFromInline var writtenAt: StoreTime
  @usableFromInline var readAt: StoreTime
  /// What is missing from a partial response; empty for a complete one.
  @usableFromInline var errors: [any Error] = []
  @usableFromInline var isInvalidated = false
  var cost = 1

  /// A partial value is kept only while there is no complete one, and never on disk.
  @inlinable var isPartial: Bool { !errors.isEmpty }

  init(_ value: Value, writtenAt: StoreTime, cost: Int = 1) {
    self.value = value
    self.writtenAt = writtenAt
    readAt = writtenAt
    self.cost = cost
  }
}
