import GraphQLClient
import StrictJSON

/// Responses that say again what the one before has said, as many do where a screen is opened again: they are compared
/// with that, not written.
extension NormalizedRecords {
  /// Whether a response would change nothing, since it is the very one that was written last for its key, and nothing has
  /// changed since that is read of it. Of one that is compared, nothing more is done.
  mutating func isRepeated(
    _ response: GraphQLResponse<PaddedBytes>, of key: NormalizedKey, by change: Change
  ) -> Bool {
    // In a layer, also what changes nothing may hide what is written below it later. A collection notes what is written,
    // and the fields with times of their own become younger.
    guard !hasLayers, isFirst(change), cache.collection == nil, cache.dates.staleTimes.isEmpty,
      response.errors.isEmpty, reads.isWritten(response.data, of: key, in: cache)
    else { return false }
    forgetLatestWrite()
    return true
  }

  /// Notes that a response was written, and its key read after that.
  mutating func noteWritten(_ response: GraphQLResponse<PaddedBytes>, of key: NormalizedKey) {
    if !hasLayers, response.errors.isEmpty { reads.noteWritten(response.data, of: key, in: cache) }
  }
}
