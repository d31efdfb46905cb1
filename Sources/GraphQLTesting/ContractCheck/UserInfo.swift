import GraphQLClient
import SystemBase

extension BodyDecoder {
  /// What the decoder passes to the types that it decodes: one of them says.
  var userInfo: [CodingUserInfoKey: Any] {
    (try? decode(UserInfoProbe.self, from: Data("{}".utf8)))?.userInfo ?? [:]
  }
}

extension BodyEncoder {
  /// What the encoder passes to the types that it encodes.
  var userInfo: [CodingUserInfoKey: Any] {
    let probe = EncodedProbe()
    _ = try? encode(probe)
    return probe.userInfo
  }
}

private struct UserInfoProbe: Decodable {
  let userInfo: [CodingUserInfoKey: Any]

  init(from decoder: any Decoder) { userInfo = decoder.userInfo }
}

private final class EncodedProbe: Encodable {
  private(set) var userInfo: [CodingUserInfoKey: Any] = [:]

  func encode(to encoder: any Encoder) throws {
    userInfo = encoder.userInfo
    var container = encoder.singleValueContainer()
    try container.encode([String: String]())
  }
}
