/// A change of cached values that a server is asked to make: how it shows until the server has answered, and what the
/// response means for the store.
///
/// It is a value, so that what a mutation does is said once, however the mutation is sent: at once, by
/// ``Store/mutate(_:send:)``, or by an outbox, by ``Store/show(_:change:)``.
///
///     func change(_ rename: Rename) -> StoreChange<String, User, User> {
///       .of(rename.id) { user in user?.renamed(rename.name) }
///     }
///     users.mutate(change(rename)) { RenameUser(rename).put(on: client) }  // one or the other
///     users.show(outbox, change: change)
///
/// Its closures are called without a lock held, on any thread: for each new value below, and maybe for one that has the
/// change already. So a change should set something, not count or append.
public struct StoreChange<Key: Hashable & Sendable, Value: Sendable, Response: Sendable>: Sendable {
  /// The key whose value is changed; `nil` if it may be any.
  let key: Key?
  /// The changed value of a key; `nil` if the change does not affect it.
  let apply: @Sendable (Key, Value?) -> Value?
  /// The value in the response, and its key; `nil` if the response is not a value of the store.
  let valueInResponse: @Sendable (Response) -> (key: Key, value: Value)?

  /// A change that may affect any cached value, and whose response is not a value of the store, such as that of another
  /// store's mutation: once the server has accepted the change, it is applied to every cached value. A value that was
  /// requested after the change began may have the change already, or not: it is requested again for its watchers, as by
  /// `invalidate(_:)`.
  ///
  ///     products.mutate(.ofAll { id, product in id == bought ? product.reserved(by: user) : nil }) {
  ///       carts.mutate(.of(user) { cart in cart?.with(bought) }) { AddToCart(id: bought).post(on: client) }
  ///     }
  /// - Parameter apply: The changed value of a key; `nil` if the change does not affect it.
  public static func ofAll(_ apply: @escaping @Sendable (Key, Value) -> Value?) -> StoreChange {
    StoreChange(
      key: nil, apply: { key, value in value.flatMap { apply(key, $0) } }, valueInResponse: { _ in nil })
  }
}

extension StoreChange where Response == Value {
  /// A change of one key's value, whose response is the new value.
  /// - Parameters:
  ///   - key: Whose value it is.
  ///   - apply: The changed value, also where none is cached; `nil` leaves it as it is.
  public static func of(_ key: Key, _ apply: @escaping @Sendable (Value?) -> Value?) -> StoreChange {
    StoreChange(key: key, apply: { _, value in apply(value) }, valueInResponse: { (key, $0) })
  }

  /// A change that may affect any cached value, and whose response is the new value of one key. To all other values the
  /// change itself is applied once the server has accepted it.
  /// - Parameters:
  ///   - keyForResponse: The key of the value in the response.
  ///   - apply: The changed value of a key; `nil` if the change does not affect it.
  public static func ofAll(
    keyForResponse: @escaping @Sendable (Value) -> Key, _ apply: @escaping @Sendable (Key, Value) -> Value?
  ) -> StoreChange {
    StoreChange(
      key: nil, apply: { key, value in value.flatMap { apply(key, $0) } },
      valueInResponse: { (keyForResponse($0), $0) })
  }
}
