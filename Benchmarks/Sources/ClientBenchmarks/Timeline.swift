import Foundation

/// A GraphQL response with a timeline.
enum Timeline {
  /// As many moments as take about `size` bytes.
  static func answer(of size: Int) -> [UInt8] {
    let head =
      #"{"data":{"getMomentsDetailsByUserID":{"userDetails":{"id":"0","name":"林薇","avatar":"https://cdn.example.com/avatars/0.png","#
      + #""backgroundImage":"https://cdn.example.com/b/0.jpg"},"moments":["#
    var moments: [String] = []
    var length = head.utf8.count + 4
    while length < size - 200 {
      let moment = moment(moments.count)
      moments.append(moment)
      length += moment.utf8.count + 1
    }
    return Array((head + moments.joined(separator: ",") + "]}}}").utf8)
  }

  private static func moment(_ index: Int) -> String {
    let titles = ["今天的早餐是豆浆和油条 🌅", "A plain title of a moment, in ASCII alone", #"She said \"hello\"\nand left"#]
    let isLink = index % 3 == 0
    return
      #"{"id":"m0-\#(index)","userDetails":{"name":"王小明","avatar":"https://cdn.example.com/avatars/\#(index).png"},"#
      + #""type":"\#(isLink ? "URL" : "PHOTOS")","title":"\#(titles[index % 3])","#
      + (isLink
        ? #""url":"https://example.com/articles/\#(index)","photos":[],"#
        : #""url":null,"photos":["https://cdn.example.com/photos/\#(index).jpg"],"#)
      + #""createdDate":"\#(1_605_521_360 + index)","isLiked":\#(index % 2 == 0),"likes":[{"id":"1","avatar":"a.png"}]}"#
  }
}
