import Foundation

/// A text to read, the same in every run.
struct Payload: Sendable {
  let name: String
  let data: Data
  /// How many objects and arrays it holds.
  let containers: Int

  init(_ name: String, _ text: String) {
    self.name = name
    data = Data(text.utf8)
    containers = text.utf8.count { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }
  }

  /// A timeline as a server sends it: CJK and emoji as UTF-8 and as escapes, addresses, numbers as strings.
  static func moments(_ name: String, count: Int) -> Payload {
    var moments: [String] = []
    for index in 0..<count {
      let titles = [
        "今天的早餐是豆浆和油条，天气很好 🌅 下午去公园散步。", "A plain title of a moment, in ASCII alone, of some length",
        #"She said \"hello\"\nand left, \/slashes\/ and \\backslashes\\ too"#, #"\u65e9\u5b89 \ud83d\ude00 caf\u00e9"#,
        "👩‍👩‍👧 Zoë Müller & Søren 周末快乐！",
      ]
      let isLink = index % 3 == 0
      let photos =
        isLink
        ? "" : (0..<index % 4).map { #""https://cdn.example.com/photos/\#(index)/\#($0).jpg""# }.joined(separator: ",")
      let likes = (0..<index % 3).map {
        #"{"id":"\#(1000 + $0)","avatar":"https://cdn.example.com/avatars/\#($0).png"}"#
      }
      .joined(separator: ",")
      moments.append(
        #"{"id":"m\#(index % 10)-\#(index)","userDetails":{"name":"王小明","avatar":"https://cdn.example.com/avatars/\#(index).png"},"#
          + #""type":"\#(isLink ? "URL" : "PHOTOS")","title":"\#(titles[index % titles.count])","#
          + #""url":\#(isLink ? #""https://example.com/articles/\#(index)?from=timeline""# : "null"),"photos":[\#(photos)],"#
          + #""createdDate":"\#(1_605_521_360 + index * 60)","isLiked":\#(index % 2 == 0),"likes":[\#(likes)]}"#)
    }
    let user =
      #"{"id":"0","name":"林薇","avatar":"https://cdn.example.com/avatars/0.png","backgroundImage":"https://cdn.example.com/b/0.jpg"}"#
    return Payload(name, #"{"userDetails":\#(user),"moments":[\#(moments.joined(separator: ","))]}"#)
  }

  /// Points with two whole numbers, and numbers with six, all 17 and three digits after the decimal point.
  static func numbers(_ name: String, count: Int) -> Payload {
    let points = (0..<count).map { index in
      let (x, y) = ((Double(index) * 1_370_911 - 5e8).rounded() / 1e6, Double(index * index % 9973) / 7)
      return
        #"{"x":\#(x),"y":\#(y),"t":\#(1_605_521_360_000 + index * 977),"level":\#(index % 100),"ratio":\#(Double(index % 997) / 1000)}"#
    }
    return Payload(name, "[\(points.joined(separator: ","))]")
  }

  /// Trees of 100 levels.
  static func deep(_ name: String, count: Int) -> Payload {
    let tree = (0..<100).reduce("null") { inner, level in #"{"n":\#(level),"next":\#(inner)}"# }
    return Payload(name, "[\(Array(repeating: tree, count: count).joined(separator: ","))]")
  }
}
