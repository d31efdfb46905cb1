/// A user and the whole of that user's timeline, newest moment first.
///
/// `MomentsDetails` in `schema.graphql`, as far as the sessions' queries select it.
public struct MomentsDetails: Codable, Hashable, Sendable {
  /// The owner of the timeline.
  public let userDetails: UserDetails

  /// The moments on the timeline, in the server's order.
  public let moments: [Moment]

  /// Makes a timeline from its owner and its moments.
  public init(userDetails: UserDetails, moments: [Moment]) {
    self.userDetails = userDetails
    self.moments = moments
  }
}
