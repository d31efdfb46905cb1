import Foundation
public import HTTP
import JSON

extension AuthenticationChallenge {
  /// Status 401, or a GraphQL response of any status that has an error with the code `UNAUTHENTICATED`, and no data: if
  /// there is data, something was carried out, and the request must not be sent again.
  public static let graphQL = AuthenticationChallenge(
    isPossible: { $0.status == 401 || $0.mediaType?.hasSuffix("json") ?? true },
    isMet: { $0.head.status == 401 || $0.body.isUnauthenticated })
}

extension Data {
  fileprivate var isUnauthenticated: Bool {
    // This is enough for most responses, which are then not parsed twice.
    guard range(of: Data(GraphQLError.unauthenticatedCode.utf8)) != nil,
      let envelope = try? GraphQLEnvelope<NoContent>(json: bytes),
      envelope.data == nil, envelope.failure == nil
    else { return false }
    return envelope.errors.contains(where: \.isUnauthenticated)
  }
}
