import CommandLineBase
import Models
import Testing
@testable import moments

struct TimelineRendererTests {
  private let now: Int64 = 1_800_000_000

  private func renderer(columns: Int, isColored: Bool = false) -> TimelineRenderer {
    TimelineRenderer(columns: columns, style: Style(isColored: isColored), now: now)
  }

  private func moment(
    name: String = "王小明", type: MomentType = .photos, title: String? = "早安 🌅", url: String? = nil,
    photos: [String] = ["https://img.example.com/1.jpg"], createdDate: String = "1799740800", isLiked: Bool? = true,
    likes: Int? = 2
  ) -> MomentsDetails.Moment {
    MomentsDetails.Moment(
      id: "m0-1", userDetails: .init(name: name, avatar: "a"), type: type, title: title, url: url, photos: photos,
      createdDate: createdDate, isLiked: isLiked,
      likes: likes.map { (0..<$0).map { .init(id: "\($0)", avatar: "a") } })
  }

  private func details(_ moments: [MomentsDetails.Moment], name: String = "Lin Wei") -> MomentsDetails {
    MomentsDetails(userDetails: .init(id: "0", name: name, avatar: "a", backgroundImage: "b"), moments: moments)
  }

  @Test(arguments: [40, 41, 60, 61])
  func `a row whose name is cut within a wide character still reaches the margin`(columns: Int) {
    let details = details([], name: String(repeating: "名", count: 60))
    let row = renderer(columns: columns).timeline(details).split(separator: "\n").first
    #expect(row?.columns == columns)
    #expect(row?.hasSuffix("no moments yet") == true)
  }

  @Test func `a timeline shows its owner and each moment`() {
    let link = moment(
      name: "Zoë", type: .url, title: nil, url: "https://example.com/a", photos: [], isLiked: false, likes: 0)
    let text = renderer(columns: 48).timeline(details([moment(), link]))
    #expect(
      text == """
        Lin Wei                                2 moments
        ────────────────────────────────────────────────

        王小明                        photo · 3 days ago
        早安 🌅
          https://img.example.com/1.jpg
        ♥ 2 likes                                   m0-1

        Zoë                            link · 3 days ago
          https://example.com/a
        ♡ no likes                                  m0-1

        """)
  }

  @Test func `a narrow terminal gets a line for each text`() {
    let text = renderer(columns: 22).moment(moment(name: "Zoë Ångström", title: "one two three four five"))
    #expect(
      text == """
        Zoë Ångström
        photo · 3 days ago
        one two three four
        five
          https://img.example.
          com/1.jpg
        ♥ 2 likes         m0-1

        """)
  }

  @Test func `an empty timeline says so, and an owner without a name is shown by id`() {
    let text = renderer(columns: 30).timeline(details([], name: ""))
    #expect(text.hasPrefix("0               no moments yet\n───"))
    #expect(text.split(separator: "\n").count == 2)
  }

  @Test func `likes that were left out are not shown`() {
    let text = renderer(columns: 40).moment(moment(isLiked: nil, likes: nil))
    #expect(!text.contains("♥"))
    #expect(!text.contains("♡"))
    #expect(!text.contains("like"))
    #expect(text.hasSuffix("m0-1\n"))
  }

  @Test(
    arguments: [
      (true, 1, "♥ 1 like "), (false, 1, "♡ 1 like "), (false, 12, "♡ 12 likes"), (true, nil, "♥ "),
      (nil, 3, "♡ 3 likes"),
    ] as [(Bool?, Int?, String)])
  func `a filled heart is the owner's own like`(isLiked: Bool?, likes: Int?, start: String) {
    let lines = renderer(columns: 40).moment(moment(isLiked: isLiked, likes: likes)).split(separator: "\n")
    #expect(lines.last?.hasPrefix(start) == true)
  }

  @Test func `many photos are counted after the third`() {
    let photos = (1...9).map { "https://img.example.com/\($0).jpg" }
    let text = renderer(columns: 40).moment(moment(photos: photos))
    #expect(text.contains("photos ·"))
    #expect(text.contains("/3.jpg\n  and 6 more\n"))
    #expect(!text.contains("/4.jpg"))
    #expect(renderer(columns: 40).moment(moment(photos: Array(photos.prefix(4)))).contains("/4.jpg\n♥"))
  }

  @Test func `a type that is not known is shown as it came, and a date that is none, too`() {
    let text = renderer(columns: 60).moment(moment(type: .unknown("VIDEO\u{1B}"), createdDate: "soon\n"))
    #expect(text.contains(#"VIDEO\u{1B} · soon\n"#))
  }

  @Test func `text from the server cannot drive the terminal`() {
    let evil = "\u{1B}[2J\u{9B}31m\u{202E}\u{2066}\u{200B}\u{7}\r\n\u{85}\u{2028}x"
    let nasty = MomentsDetails(
      userDetails: .init(id: evil, name: evil, avatar: evil, backgroundImage: evil),
      moments: [
        MomentsDetails.Moment(
          id: evil, userDetails: .init(name: evil, avatar: evil), type: .unknown(evil), title: evil, url: evil,
          photos: [evil], createdDate: evil, isLiked: true, likes: [.init(id: evil, avatar: evil)])
      ])
    for columns in [1, 30, 80, 500] {
      let text = renderer(columns: columns).timeline(nasty)
      #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) })
      #expect(!text.unicodeScalars.contains { ["\u{202E}", "\u{2066}", "\u{200B}", "\u{2028}"].contains($0) })
      #expect(text.contains(#"\u{1B}"#))
    }
  }

  @Test func `no line is wider than the terminal, from 20 columns on, nor than 100`() {
    let long = String(repeating: "早安abc 👩‍👩‍👧‍👦", count: 40)
    let wide = details(
      [
        moment(name: long, type: .unknown(long), title: long, url: "https://example.com/" + long, createdDate: long),
        moment(), moment(name: "", title: "", photos: []),
      ], name: long)
    for columns in 20...120 {
      let lines = renderer(columns: columns).timeline(wide).split(separator: "\n")
      #expect(lines.allSatisfy { $0.columns <= min(columns, 100) }, "at \(columns) columns")
    }
  }

  @Test func `text without end is cut, and takes no time`() {
    for endless in [String(repeating: "x", count: 1 << 20), "x" + String(repeating: "\u{301}", count: 1 << 20)] {
      let text = renderer(columns: 40).moment(moment(name: endless, title: endless, url: endless))
      #expect(text.utf8.count < 2_000)
      #expect(text.contains("…\n"))
    }
  }

  @Test func `right edges meet whatever the script`() {
    let moments = ["Lin", "王小明", "👩‍👩‍👧‍👦🇸🇪", "Zoe\u{308}", "한국어", ""].map { moment(name: $0) }
    let lines = renderer(columns: 60).timeline(details(moments)).split(separator: "\n").filter { $0.hasSuffix("ago") }
    #expect(lines.count == 6)
    #expect(lines.allSatisfy { $0.columns == 60 })
  }

  @Test func `colours change nothing but the colours`() {
    let plain = renderer(columns: 60).timeline(details([moment()]))
    let colored = renderer(columns: 60, isColored: true).timeline(details([moment()]))
    #expect(colored.contains("\u{1B}[31m♥ 2 likes\u{1B}[0m"))
    #expect(colored.replacing(/\u{1B}\[[0-9]+m/, with: "") == plain)
  }
}

struct AgeTests {
  @Test(arguments: [
    (0, "just now"), (59, "just now"), (60, "1 minute ago"), (119, "1 minute ago"), (3599, "59 minutes ago"),
    (3600, "1 hour ago"), (86399, "23 hours ago"), (86400, "1 day ago"), (259200, "3 days ago"),
    (604799, "6 days ago"), (604800, "1 week ago"), (2505600, "4 weeks ago"),
    (2592000, "1 month ago"), (31449600, "12 months ago"), (31536000, "1 year ago"),
    (157680000, "5 years ago"), (-1, "just now"), (-300, "just now"), (-301, "in 5 minutes"), (-172800, "in 2 days"),
  ])
  func `ages are shown in the largest whole unit`(seconds: Int64, words: String) {
    let now: Int64 = 1_800_000_000
    #expect(Age.words(createdDate: String(now - seconds), now: now) == words)
  }

  @Test func `the time before 1970 is the past, too`() {
    #expect(Age.words(createdDate: "-86400", now: 0) == "1 day ago")
  }

  @Test func `a time in milliseconds is shown like one in seconds`() {
    #expect(Age.words(createdDate: "1799740800000", now: 1_800_000_000) == "3 days ago")
  }

  @Test(arguments: [
    "", "yesterday", "1e9", "0x10", "1605521360.5", " 1605521360",
    "9223372036854775807", "-9223372036854775808", "99999999999999999999999999",
  ])
  func `garbage and what lies beyond all calendars have no age`(createdDate: String) {
    #expect(Age.words(createdDate: createdDate, now: 1_800_000_000) == nil)
  }
}
