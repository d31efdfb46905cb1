/// Makes the containers for keys of some type.
///
/// The runtime takes longer to put together the type of a generic container than a member takes to be read: who has made
/// one of a type has it at hand for the next.
class AnyKeyedContainers: @unchecked Sendable {
  // Unchecked, as neither this nor a subclass holds anything.

  /// By the types of the keys.
  static let cache = TypeCache<AnyKeyedContainers>()
}
