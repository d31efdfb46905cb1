public import JSON

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
