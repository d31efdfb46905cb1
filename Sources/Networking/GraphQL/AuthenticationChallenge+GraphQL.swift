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
    guard holds(GraphQLError.unauthenticatedCode),
      let envelope = try? GraphQLEnvelope<NoContent>(json: bytes),
      envelope.data == nil, envelope.failure == nil
    else { return false }
    return envelope.errors.contains(where: \.isUnauthenticated)
  }

  /// Whether the bytes of a text, which is not empty, occur. Foundation's search takes many times longer than receiving
  /// the response.
  private func holds(_ text: String) -> Bool {
    let text = Array(text.utf8)
    return withUnsafeBytes { bytes in
      var position = 0
      while let start = bytes.firstIndex(of: text[0], from: position) {
        if bytes[start...].starts(with: text) { return true }
        position = start + 1
      }
      return false
    }
  }
}
