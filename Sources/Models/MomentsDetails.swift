/// A user and that user's whole timeline, newest moment first.
///
/// `MomentsDetails` in `schema.graphql`, with the fields that the sessions' queries select.
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
