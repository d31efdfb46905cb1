import Models

extension EmbeddedState {
  /// Four friends and their recent posts.
  ///
  /// - Parameter now: Unix time in seconds, which the moments' dates count back from.
  static func sample(now: Int64) -> EmbeddedState {
    let (lin, ming, zoe, sofia) = (
      user("0", "Lin Wei"), user("1", "王小明"), user("2", "Zoë Ångström"), user("3", "Sofía Núñez")
    )
    let (minute, hour, day): (Int64, Int64, Int64) = (60, 3_600, 86_400)
    return EmbeddedState(
      users: [lin, ming, zoe, sofia],
      timelines: [
        lin.id: [
          photos("m0-0", by: ming, at: now - 12 * minute, "早安，上海 🌅", ["bund", "tea"], likedBy: [lin, zoe, sofia]),
          link("m0-1", by: zoe, at: now - 5 * hour, "How a stream ends, and why only once", "streams?ref=moments"),
          photos("m0-2", by: sofia, at: now - 3 * day, "Paella para seis 🥘 👩‍👩‍👧‍👦", ["paella"], likedBy: [ming]),
          photos("m0-3", by: ming, at: now - 12 * day, nil, (1...6).map { "west-lake-\($0)" }, likedBy: [lin]),
          link("m0-4", by: lin, at: now - 400 * day, #"First post: "hello" \o/"#, "hello", likedBy: [zoe]),
        ],
        ming.id: [
          photos("m1-0", by: lin, at: now - 45 * minute, "生日快乐 🎂", ["cake", "candles"], likedBy: [ming]),
          link("m1-1", by: ming, at: now - 2 * day, "终端里的中文怎样对齐", "columns"),
        ],
        zoe.id: [
          photos("m2-0", by: zoe, at: now - 20 * day, "Midsommar 🇸🇪", ["maypole"], likedBy: [lin, sofia])
        ],
      ])
  }

  private static func user(_ id: String, _ name: String) -> MomentsDetails.UserDetails {
    let images = "https://img.example.com/users/\(id)"
    return MomentsDetails.UserDetails(
      id: id, name: name, avatar: "\(images)/avatar.png?s=460&v=4", backgroundImage: "\(images)/background.jpg")
  }

  private static func photos(
    _ id: String, by author: MomentsDetails.UserDetails, at created: Int64, _ title: String?, _ names: [String],
    likedBy likers: [MomentsDetails.UserDetails] = []
  ) -> Entry {
    let post = MomentsDetails.Moment(
      id: id, userDetails: .init(name: author.name, avatar: author.avatar), type: .photos, title: title,
      photos: names.map { "https://img.example.com/p/\($0).jpg" }, createdDate: String(created))
    return Entry(post: post, likerIDs: likers.map(\.id))
  }

  private static func link(
    _ id: String, by author: MomentsDetails.UserDetails, at created: Int64, _ title: String?, _ page: String,
    likedBy likers: [MomentsDetails.UserDetails] = []
  ) -> Entry {
    let post = MomentsDetails.Moment(
      id: id, userDetails: .init(name: author.name, avatar: author.avatar), type: .url, title: title,
      url: "https://example.com/articles/\(page)", createdDate: String(created))
    return Entry(post: post, likerIDs: likers.map(\.id))
  }
}
