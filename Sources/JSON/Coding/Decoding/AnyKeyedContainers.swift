/// Makes keyed containers for one type of keys.
///
/// Instantiating the type of a generic container takes the runtime longer than reading a member, so it is done once for
/// each type of keys.
class AnyKeyedContainers: @unchecked Sendable {
  // Unchecked, since neither this nor a subclass has stored properties.

  /// Containers by the type of their keys.
  static let cache = TypeCache<AnyKeyedContainers>()
}
