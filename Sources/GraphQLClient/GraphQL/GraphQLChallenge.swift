import HTTPClientCore
public import HTTPMiddlewares
import StrictJSON
import SystemBase

extension AuthenticationChallenge {
  /// Status 401, or a GraphQL response of any status that has an error with the code `UNAUTHENTICATED`, and no data: if
  /// there is data, something was carried out, and the request must not be sent again.
  ///
  /// A mutation that is not idempotent is not sent again either if one of the errors is from inside a mutation's
  /// result: by then it was carried out, even if the error left no data. If a document has several mutations, the
  /// response cannot tell whether others were carried out before the one that was refused: send such mutations one by
  /// one.
  public static let graphQL = AuthenticationChallenge(
    isPossible: { $0.status == 401 || $0.isJSON || $0.mediaType == nil },
    isMet: { $0.head.status == 401 || $0.body.errorsWithoutData.contains(where: \.isUnauthenticated) },
    mayFollowEffects: { $0.head.status != 401 && $0.body.errorsWithoutData.contains { $0.path.count > 1 } })
}

extension Data {
  /// The errors of a GraphQL response without data, if any of them may be `UNAUTHENTICATED`.
  fileprivate var errorsWithoutData: [GraphQLError] { errorsWithoutData(naming: GraphQLError.unauthenticatedCode) }

  /// The errors of a GraphQL response without data, if a text, such as a code, occurs in it.
  func errorsWithoutData(naming text: String) -> [GraphQLError] {
    // This is enough for most responses, which are then not parsed twice.
    var data: NoContent?
    guard !beginsWithData, holds(text),
      let envelope = try? GraphQLEnvelope(self, data: &data, by: JSONCoder()),
      data == nil, envelope.failure == nil
    else { return [] }
    return envelope.errors
  }

  /// Whether this is a GraphQL response that begins with data, as most do: whatever errors follow, there is data. False
  /// says nothing.
  var beginsWithData: Bool {
    let start: StaticString = #"{"data":{"#
    return count >= start.utf8CodeUnitCount
      && withUnsafeBytes { bytes in
        bytes.baseAddress.map { memcmp($0, start.utf8Start, start.utf8CodeUnitCount) == 0 } ?? false
      }
  }
}
