import Foundation
public import HTTP
import JSON

extension AuthenticationChallenge {
  /// The status 401, or a GraphQL answer of any status with an error of the code `UNAUTHENTICATED` and without data:
  /// where there is data, something was carried out, and the request must not be sent again.
  public static let graphQL = AuthenticationChallenge(
    isPossible: { $0.status == 401 || $0.mediaType?.hasSuffix("json") ?? true },
    isMet: { $0.head.status == 401 || $0.body.isUnauthenticated })
}

extension Data {
  fileprivate var isUnauthenticated: Bool {
    // Most answers are told by this alone, and are not read twice.
    guard range(of: Data(GraphQLError.unauthenticatedCode.utf8)) != nil,
      let envelope = try? GraphQLEnvelope<NoContent>(json: bytes),
      envelope.data == nil, envelope.failure == nil
    else { return false }
    return envelope.errors.contains(where: \.isUnauthenticated)
  }
}
