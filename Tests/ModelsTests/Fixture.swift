import Foundation
import Models

/// A timeline with all there is, as a server sends it.
enum Fixture {
  static let json = """
    {
      "userDetails": {"id": "0", "name": "Wei", "avatar": "a.png", "backgroundImage": "b.jpg"},
      "moments": [
        {
          "id": "m0-0", "userDetails": {"name": "王小明", "avatar": "c.png"}, "type": "PHOTOS", "title": "早安 🌅",
          "url": null, "photos": ["1.jpg", "2.jpg"], "createdDate": "1605521360", "isLiked": true,
          "likes": [{"id": "0", "avatar": "a.png"}]
        },
        {
          "id": "m0-1", "userDetails": {"name": "Zoë", "avatar": "d.png"}, "type": "URL", "title": "",
          "url": "https://example.com", "photos": [], "createdDate": "1605520760"
        }
      ]
    }
    """

  static let details = MomentsDetails(
    userDetails: .init(id: "0", name: "Wei", avatar: "a.png", backgroundImage: "b.jpg"),
    moments: [
      .init(
        id: "m0-0", userDetails: .init(name: "王小明", avatar: "c.png"), type: .photos, title: "早安 🌅",
        photos: ["1.jpg", "2.jpg"], createdDate: "1605521360", isLiked: true,
        likes: [.init(id: "0", avatar: "a.png")]),
      .init(
        id: "m0-1", userDetails: .init(name: "Zoë", avatar: "d.png"), type: .url, title: "",
        url: "https://example.com", createdDate: "1605520760"),
    ])
}

extension MomentsDetails {
  init(json: String) throws {
    self = try JSONDecoder().decode(MomentsDetails.self, from: Data(json.utf8))
  }
}

extension DecodingError {
  /// The place that the error names: `moments.0.id`.
  var pathText: String {
    let path: [any CodingKey] =
      switch self {
      case .keyNotFound(let key, let context): context.codingPath + [key]
      case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
        context.codingPath
      @unknown default: []
      }
    return path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }
}
