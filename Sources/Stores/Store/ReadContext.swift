import SystemBase

/// What a read passes to a store's ``Fetcher`` beside the key: the user's token, a deadline, a trace.
///
///     let users = Store<String, User>(.ofStream { id, context in
///       GetUser(id: id).data(on: client.acting(with: context[Token.self]))
///     })
///     var context = ReadContext(identity: token.value)
///     context[Token.self] = token
///     users.get("7", context: context)
///
/// It is no part of the key: whatever the context, reads of a key are answered from the same cached value. So a store
/// still serves one account, and contexts tell apart what may differ within it, such as the tokens of two devices.
public struct ReadContext: Sendable {
  @usableFromInline
  final class Storage: Sendable {
    let identity: (any Hashable & Sendable)?
    let values: [ObjectIdentifier: any Sendable]

    init(_ identity: (any Hashable & Sendable)?, _ values: [ObjectIdentifier: any Sendable]) {
      self.identity = identity
      self.values = values
    }
  }

  /// `nil` if there is nothing in it, which is so in most reads.
  @usableFromInline var storage: Storage?

  /// Makes a context with nothing in it.
  @inlinable
  public init() {}

  /// Makes a context without values.
  /// - Parameter identity: Whom a response may be shared with: reads of a key join a request only if its identity
  ///   equals theirs. What it carries besides does not matter: a request that is joined has the context of the read
  ///   that began it. Strings are compared by their bytes, other types by their `==`, which must not call the store: it
  ///   runs under its lock.
  public init(identity: some Hashable & Sendable) {
    storage = Storage(identity, [:])
  }

  /// Whom a response may be shared with; `nil` if with every read that has none either.
  public var identity: (any Hashable & Sendable)? { storage?.identity }

  /// The value of a type, of which there is one at most.
  public subscript<Value: Sendable>(type: Value.Type) -> Value? {
    get { storage?.values[ObjectIdentifier(type)] as? Value }
    set {
      var values = storage?.values ?? [:]
      values[ObjectIdentifier(type)] = newValue
      storage = Storage(storage?.identity, values)
    }
  }

  func mayJoin(_ other: ReadContext) -> Bool {
    if storage === other.storage { return true }
    return switch (identity, other.identity) {
    case (nil, nil): true
    case (let own?, let other?): Self.isEqual(own, other)
    default: false
    }
  }

  private static func isEqual(_ own: any Hashable & Sendable, _ other: any Hashable & Sendable) -> Bool {
    if let own = own as? String, let other = other as? String { return own.hasBytes(of: other) }
    return AnyHashable(own) == AnyHashable(other)
  }
}
