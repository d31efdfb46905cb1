import StrictJSON

/// The timeline as one would usually write it: `Codable`, without handwritten code.
struct PlainTimeline: Codable {
  struct User: Codable {
    let id: String
    let name: String
    let avatar: String
    let backgroundImage: String
  }
  struct Author: Codable {
    let name: String
    let avatar: String
  }
  struct Liker: Codable {
    let id: String
    let avatar: String
  }
  struct Moment: Codable {
    let id: String
    let userDetails: Author
    let type: String
    let title: String?
    let url: String?
    let photos: [String]
    let createdDate: String
    let isLiked: Bool?
    let likes: [Liker]?
  }
  let userDetails: User
  let moments: [Moment]
}

struct PlainPoint: Codable {
  let x: Double
  let y: Double
  let t: Int64
  let level: Int
  let ratio: Double
}

/// A point that reads and writes itself.
struct Point: JSONDecodable, JSONEncodable {
  let x: Double
  let y: Double
  let t: Int64
  let level: Int
  let ratio: Double

  init(from json: inout JSONReader) throws(JSONError) {
    var x: Double?
    var y: Double?
    var t: Int64?
    var level: Int?
    var ratio: Double?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "x") {
        x = try json.readDouble()
      } else if json.key(is: "y") {
        y = try json.readDouble()
      } else if json.key(is: "t") {
        t = try json.readInteger()
      } else if json.key(is: "level") {
        level = try json.readInteger()
      } else if json.key(is: "ratio") {
        ratio = try json.readDouble()
      } else {
        try json.skipValue()
      }
    }
    self.x = try json.require(x, "x")
    self.y = try json.require(y, "y")
    self.t = try json.require(t, "t")
    self.level = try json.require(level, "level")
    self.ratio = try json.require(ratio, "ratio")
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("x", x)
    json.write("y", y)
    json.write("t", t)
    json.write("level", level)
    json.write("ratio", ratio)
    json.endObject()
  }
}

final class PlainNode: Codable {
  let n: Int
  let next: PlainNode?
}

/// A node that reads and writes itself.
final class Node: JSONDecodable, JSONEncodable {
  let n: Int
  let next: Node?

  init(from json: inout JSONReader) throws(JSONError) {
    var n: Int?
    var next: Node?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "n") {
        n = try json.readInteger()
      } else if json.key(is: "next") {
        next = try json.read()
      } else {
        try json.skipValue()
      }
    }
    self.n = try json.require(n, "n")
    self.next = next
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    json.write("n", n)
    json.write("next", next)
    json.endObject()
  }
}
