import GraphQLClientTestSupport
import GraphQLClientTesting
import Models

extension MomentsDetails {
  /// A timeline with one moment.
  static func fixture(userID: String = "0", isLiked: Bool? = true) -> MomentsDetails {
    MomentsDetails(
      userDetails: UserDetails(id: userID, name: "Wei", avatar: "a.png", backgroundImage: "b.jpg"),
      moments: [
        Moment(
          id: "m\(userID)-0", userDetails: Moment.Author(name: "Zoë", avatar: "z.png"), type: .url, title: nil,
          url: "https://example.com", createdDate: "1605521360", isLiked: isLiked,
          likes: isLiked.map { $0 ? [Moment.Liker(id: userID, avatar: "a.png")] : [] })
      ])
  }
}

extension ScriptedResponse {
  /// The fixture as a server sends it, as the answer of an operation.
  static func moments(_ operation: String, errors: String = "null") -> ScriptedResponse {
    .json(
      """
      {"data": {"\(operation)": {
        "__typename": "MomentsDetails",
        "userDetails": {"id": 0, "name": "Wei", "avatar": "a.png", "backgroundImage": "b.jpg"},
        "moments": [{"id": "m0-0", "userDetails": {"name": "Zoë", "avatar": "z.png"}, "type": "URL", "title": null,
          "url": "https://example.com", "photos": [], "createdDate": "1605521360", "isLiked": true,
          "likes": [{"id": "0", "avatar": "a.png"}]}]}},
       "errors": \(errors)}
      """)
  }
}
