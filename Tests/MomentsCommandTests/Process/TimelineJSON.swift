import Foundation

/// Answers of servers to the query for a timeline.
enum TimelineJSON {
  /// The timeline alone.
  static let details = """
    {"userDetails":{"id":"0","name":"Lin","avatar":"https://a.example/0","backgroundImage":"b"},\
    "moments":[{"id":"m0","userDetails":{"name":"王小明","avatar":"a"},"type":"PHOTOS","title":"早安 🌅",\
    "url":null,"photos":["https://a.example/1.jpg"],"createdDate":"1605521360","isLiked":true,\
    "likes":[{"id":"0","avatar":"a"}]}]}
    """

  /// The whole answer.
  static let plain = answer(details)

  /// The whole answer with another timeline in it.
  static func answer(_ details: String) -> String {
    #"{"data":{"getMomentsDetailsByUserID":\#(details)}}"#
  }
}

extension String {
  /// The text's bytes, with others in the place of a part of it: they may be no text.
  func bytes(replacing part: String, with bytes: [UInt8]) -> [UInt8] {
    let pieces = components(separatedBy: part).map { [UInt8]($0.utf8) }
    return [UInt8](pieces.joined(separator: bytes))
  }
}
