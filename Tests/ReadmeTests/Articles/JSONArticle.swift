// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import StrictJSON

struct Point: Hashable {
  let x: Double
  let y: Double
}

extension Point: JSONDecodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var x: Double?
    var y: Double?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "x") {
        x = try json.readDouble()
      } else if json.key(is: "y") {
        y = try json.readDouble()
      } else {
        try json.skipValue()
      }
    }
    self.init(x: try json.require(x, "x"), y: try json.require(y, "y"))
  }
}
