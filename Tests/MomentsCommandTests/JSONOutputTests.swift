import Foundation
import Models
import Testing
@testable import moments

struct JSONOutputTests {
  private func details(title: String?, isLiked: Bool? = nil) -> MomentsDetails {
    MomentsDetails(
      userDetails: .init(id: "0", name: "Lin", avatar: "https://a/b?c&d", backgroundImage: "b"),
      moments: [
        MomentsDetails.Moment(
          id: "m", userDetails: .init(name: "王", avatar: "a"), type: .unknown("VIDEO"), title: title, photos: [],
          createdDate: "1", isLiked: isLiked, likes: isLiked.map { _ in [] })
      ])
  }

  @Test func `keys are sorted, absent values left out, slashes as they are`() throws {
    #expect(
      try JSONOutput.text(details(title: nil)) == """
        {"moments":[{"createdDate":"1","id":"m","photos":[],"type":"VIDEO","userDetails":{"avatar":"a","name":"王"}}],\
        "userDetails":{"avatar":"https://a/b?c&d","backgroundImage":"b","id":"0","name":"Lin"}}

        """)
  }

  @Test func `likes are there where the server sent them`() throws {
    let text = try JSONOutput.text(details(title: "t", isLiked: false))
    #expect(text.contains(#""isLiked":false,"likes":[],"photos":[],"title":"t""#))
  }

  @Test func `characters that drive a terminal or reorder text are escaped, and read back as they were`() throws {
    var title = "\u{61C}\u{200B}\u{200E}\u{200F}\u{2028}\u{2029}\u{202A}\u{202E}\u{2066}\u{2069}\u{FEFF}\u{E0001}"
    for value in UInt32(0)...0x9F {
      if let scalar = Unicode.Scalar(value) { title.unicodeScalars.append(scalar) }
    }
    title += " 早安 👩‍👩‍👧‍👦"
    let text = try JSONOutput.text(details(title: title))
    let body = text.dropLast()
    #expect(text.hasSuffix("}\n"))
    #expect(
      body.unicodeScalars.allSatisfy { scalar in
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        case .format: scalar == "\u{200D}"
        default: true
        }
      })
    for escape in [#"\u001b"#, #"\u202e"#, #"\u2028"#, #"\u009b"#, #"\udb40\udc01"#] {
      #expect(text.contains(escape))
    }
    #expect(text.contains("早安 👩‍👩‍👧‍👦"))
    let decoded = try JSONDecoder().decode(MomentsDetails.self, from: Data(text.utf8))
    #expect(decoded.moments.first.map { Array(($0.title ?? "").unicodeScalars) } == Array(title.unicodeScalars))
  }
}
