public import GRDB
import HTTPClientCore
import Models

/// The tables in which timelines are kept, and what sessions read from them and write to them.
public enum MomentsTables {
  /// Creates the tables.
  public static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("moments") { db in
      try db.execute(
        sql: """
          CREATE TABLE user (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, avatar TEXT NOT NULL, backgroundImage TEXT NOT NULL);
          CREATE TABLE moment (
            id TEXT PRIMARY KEY, ownerID TEXT NOT NULL REFERENCES user, authorID TEXT NOT NULL REFERENCES user,
            type TEXT NOT NULL, title TEXT, url TEXT, createdAt INTEGER NOT NULL);
          CREATE INDEX momentOfOwner ON moment (ownerID, createdAt);
          CREATE TABLE photo (
            momentID TEXT NOT NULL REFERENCES moment ON DELETE CASCADE, position INTEGER NOT NULL, url TEXT NOT NULL,
            PRIMARY KEY (momentID, position));
          CREATE TABLE momentLike (
            id INTEGER PRIMARY KEY, momentID TEXT NOT NULL REFERENCES moment ON DELETE CASCADE,
            userID TEXT NOT NULL REFERENCES user, UNIQUE (momentID, userID));
          """)
    }
    return migrator
  }

  /// A user's timeline, newest moment first, by four queries however many moments there are.
  static func timeline(of userID: String, _ db: Database) throws -> MomentsDetails {
    guard let owner = try UserRow.fetchOne(db, sql: "SELECT * FROM user WHERE id = ?", arguments: [userID]) else {
      throw RequestError(.noSuchRow, "There is no user \(userID).", reached: .rejected)
    }
    let moments = try MomentRow.fetchAll(
      db,
      sql: """
        SELECT moment.*, user.name AS authorName, user.avatar AS authorAvatar
        FROM moment JOIN user ON user.id = authorID WHERE ownerID = ? ORDER BY createdAt DESC, moment.id
        """, arguments: [userID])
    let photos = try PhotoRow.fetchAll(
      db,
      sql: """
        SELECT photo.* FROM photo JOIN moment ON moment.id = momentID WHERE ownerID = ? ORDER BY position
        """, arguments: [userID])
    let likes = try LikeRow.fetchAll(
      db,
      sql: """
        SELECT momentID, userID, avatar FROM momentLike
        JOIN moment ON moment.id = momentID JOIN user ON user.id = userID WHERE ownerID = ? ORDER BY momentLike.id
        """, arguments: [userID])
    let photosByMoment = Dictionary(grouping: photos, by: \.momentID)
    let likesByMoment = Dictionary(grouping: likes, by: \.momentID)
    return MomentsDetails(
      userDetails: .init(
        id: owner.id, name: owner.name, avatar: owner.avatar, backgroundImage: owner.backgroundImage),
      moments: moments.map { moment in
        let likes = likesByMoment[moment.id] ?? []
        return MomentsDetails.Moment(
          id: moment.id, userDetails: .init(name: moment.authorName, avatar: moment.authorAvatar),
          type: MomentType(rawValue: moment.type), title: moment.title, url: moment.url,
          photos: (photosByMoment[moment.id] ?? []).map(\.url), createdDate: String(moment.createdAt),
          isLiked: likes.contains { $0.userID == owner.id },
          likes: likes.map { .init(id: $0.userID, avatar: $0.avatar) })
      })
  }

  /// The id of the user whose timeline has a moment.
  static func owner(ofMoment id: String, _ db: Database) throws -> String {
    guard let owner = try String.fetchOne(db, sql: "SELECT ownerID FROM moment WHERE id = ?", arguments: [id]) else {
      throw RequestError(.noSuchRow, "There is no moment \(id).", reached: .rejected)
    }
    return owner
  }

  /// Sets whether a user likes a moment; the like that is there already stays the one that it is.
  static func setLike(_ isLiked: Bool, of momentID: String, by userID: String, _ db: Database) throws {
    try db.execute(
      sql: isLiked
        ? "INSERT INTO momentLike (momentID, userID) VALUES (?, ?) ON CONFLICT (momentID, userID) DO NOTHING"
        : "DELETE FROM momentLike WHERE momentID = ? AND userID = ?", arguments: [momentID, userID])
  }
}

private struct UserRow: Decodable, FetchableRecord {
  let id, name, avatar, backgroundImage: String
}

private struct MomentRow: Decodable, FetchableRecord {
  let id, authorName, authorAvatar, type: String
  let title, url: String?
  let createdAt: Int64
}

private struct PhotoRow: Decodable, FetchableRecord {
  let momentID, url: String
}

private struct LikeRow: Decodable, FetchableRecord {
  let momentID, userID, avatar: String
}
