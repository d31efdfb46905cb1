import GraphQLValues
public import StrictJSON

extension MomentsDetails: JSONDecodable, JSONEncodable {
  /// Reads a timeline. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var userDetails: UserDetails?
    var moments: [Moment]?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "userDetails") {
        userDetails = try json.read(UserDetails.self)
      } else if json.key(is: "moments") {
        moments = try json.read([Moment].self)
      } else {
        try json.skipValue()
      }
    }
    self.init(
      userDetails: try json.require(userDetails, "userDetails"), moments: try json.require(moments, "moments"))
  }

  /// Writes the timeline.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("userDetails", userDetails)
    json.write("moments", moments)
    json.endObject()
  }
}

extension MomentsDetails.UserDetails: JSONDecodable, JSONEncodable {
  /// Reads an owner. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var id: String?
    var name: String?
    var avatar: String?
    var backgroundImage: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readID()
      } else if json.key(is: "name") {
        name = try json.readString()
      } else if json.key(is: "avatar") {
        avatar = try json.readString()
      } else if json.key(is: "backgroundImage") {
        backgroundImage = try json.readString()
      } else {
        try json.skipValue()
      }
    }
    self.init(
      id: try json.require(id, "id"), name: try json.require(name, "name"),
      avatar: try json.require(avatar, "avatar"),
      backgroundImage: try json.require(backgroundImage, "backgroundImage"))
  }

  /// Writes the owner.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("id", id)
    json.write("name", name)
    json.write("avatar", avatar)
    json.write("backgroundImage", backgroundImage)
    json.endObject()
  }
}

extension MomentsDetails.Moment: JSONDecodable, JSONEncodable {
  /// Reads a moment. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var id: String?
    var userDetails: Author?
    var type: MomentType?
    var title: String?
    var url: String?
    var photos: [String]?
    var createdDate: String?
    var isLiked: Bool?
    var likes: [Liker]?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readID()
      } else if json.key(is: "userDetails") {
        userDetails = try json.read(Author.self)
      } else if json.key(is: "type") {
        type = try json.read(MomentType.self)
      } else if json.key(is: "title") {
        title = try json.read()
      } else if json.key(is: "url") {
        url = try json.read()
      } else if json.key(is: "photos") {
        photos = try json.read([String].self)
      } else if json.key(is: "createdDate") {
        createdDate = try json.readString()
      } else if json.key(is: "isLiked") {
        isLiked = try json.read()
      } else if json.key(is: "likes") {
        likes = try json.read()
      } else {
        try json.skipValue()
      }
    }
    self.init(
      id: try json.require(id, "id"), userDetails: try json.require(userDetails, "userDetails"),
      type: try json.require(type, "type"), title: title, url: url, photos: try json.require(photos, "photos"),
      createdDate: try json.require(createdDate, "createdDate"), isLiked: isLiked, likes: likes)
  }

  /// Writes the moment; members that are `nil` are left out.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("id", id)
    json.write("userDetails", userDetails)
    json.write("type", type)
    json.write("title", ifPresent: title)
    json.write("url", ifPresent: url)
    json.write("photos", photos)
    json.write("createdDate", createdDate)
    json.write("isLiked", ifPresent: isLiked)
    json.write("likes", ifPresent: likes)
    json.endObject()
  }
}

extension MomentsDetails.Moment.Author: JSONDecodable, JSONEncodable {
  /// Reads an author. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    var avatar: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.readString()
      } else if json.key(is: "avatar") {
        avatar = try json.readString()
      } else {
        try json.skipValue()
      }
    }
    self.init(name: try json.require(name, "name"), avatar: try json.require(avatar, "avatar"))
  }

  /// Writes the author.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("name", name)
    json.write("avatar", avatar)
    json.endObject()
  }
}

extension MomentsDetails.Moment.Liker: JSONDecodable, JSONEncodable {
  /// Reads a liker. An error names the path of the member that is missing or has the wrong type.
  public init(from json: inout JSONReader) throws(JSONError) {
    var id: String?
    var avatar: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "id") {
        id = try json.readID()
      } else if json.key(is: "avatar") {
        avatar = try json.readString()
      } else {
        try json.skipValue()
      }
    }
    self.init(id: try json.require(id, "id"), avatar: try json.require(avatar, "avatar"))
  }

  /// Writes the liker.
  public func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("id", id)
    json.write("avatar", avatar)
    json.endObject()
  }
}
