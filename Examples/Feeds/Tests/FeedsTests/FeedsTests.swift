import Feeds
import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct FeedsTests {
  private func feed(_ xml: String) async throws -> Feed {
    try await withServer(of: ["news.xml": Data(xml.utf8)]) { try await FeedSession(path: "news.xml").get(on: $0).value }
  }

  private func page(_ html: String) async throws -> Page {
    try await withServer(of: ["index.html": Data(html.utf8)]) {
      try await PageSession(path: "index.html").get(on: $0).value
    }
  }

  @Test func `an RSS feed is read, with text in CDATA, foreign elements and a date`() async throws {
    let feed = try await feed(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/"><channel>
        <title>Tea &amp; books</title><link>https://tea.example/</link>
        <atom:link href="https://tea.example/news.xml" rel="self"/>
        <item><title><![CDATA[On <!DOCTYPE html>, and why]]></title><link>https://tea.example/1</link>
          <guid isPermaLink="false">tea-1</guid><pubDate>Wed, 02 Oct 2002 13:00:00 GMT</pubDate>
          <media:title>A photo</media:title></item>
        <item><link>https://tea.example/2</link><pubDate>Wed, 02 Oct 2002 15:00:00 +0200</pubDate></item>
        <item><title>Nobody knows when</title><link>https://tea.example/3</link><pubDate>lately</pubDate></item>
      </channel></rss>
      """)
    #expect(feed.title == "Tea & books")
    #expect(feed.entries.map(\.id) == ["tea-1", "https://tea.example/2", "https://tea.example/3"])
    #expect(feed.entries.map(\.title) == ["On <!DOCTYPE html>, and why", "", "Nobody knows when"])
    let date = Date(timeIntervalSince1970: 1_033_563_600)
    #expect(feed.entries.map(\.date) == [date, date, nil])
  }

  @Test func `an Atom feed is read`() async throws {
    let feed = try await feed(
      """
      <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Tea</title><id>urn:tea</id>
        <updated>2003-12-13T18:30:02Z</updated>
        <entry><id>urn:tea:1</id><title type="html">Oolong</title><updated>2003-12-13T18:30:02.5Z</updated>
          <link rel="edit" href="https://tea.example/edit"/><link href="https://tea.example/1"/></entry>
      </feed>
      """)
    #expect(feed.title == "Tea")
    #expect(feed.entries.map(\.link) == ["https://tea.example/1"])
    #expect(feed.entries.map(\.title) == ["Oolong"])
    #expect(feed.entries.map(\.date) == [Date(timeIntervalSince1970: 1_071_340_202.5)])
  }

  @Test func `an empty feed has no entries`() async throws {
    #expect(try await feed("<rss><channel><title>Tea</title></channel></rss>") == Feed(title: "Tea", entries: []))
    #expect(try await feed("<feed><title>Tea</title></feed>").entries == [])
  }

  @Test(arguments: ["", "<a/>", "<rss><channel/></rss>", "<rss><channel><title>Tea</title>", "{}", "<a \" <b>", "<"])
  func `XML that is not a feed is not decodable`(xml: String) async throws {
    let error = await #expect(throws: RequestError.self) { try await feed(xml) }
    #expect(error?.kind == .undecodable && error?.status == 200, "\(String(describing: error))")
  }

  static let bomb =
    "<!DOCTYPE l [<!ENTITY l0 \"lol\">"
    + (1...9).map { n in "<!ENTITY l\(n) \"" + String(repeating: "&l\(n - 1);", count: 10) + "\">" }.joined()
    + "]><rss><channel><title>&l9;</title></channel></rss>"

  @Test(arguments: [
    Hostile("an entity bomb", bomb),
    Hostile("a file of the reader's", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"),
    Hostile("a bomb behind comments", "<!--\(bomb)--><?pi <a> ?>" + bomb),
    Hostile("endless nesting", String(repeating: "<a>", count: 300_000)),
    Hostile("many attributes", "<a " + (0..<100_000).map { "a\($0)=''" }.joined(separator: " ") + "/>"),
    Hostile("a huge attribute", "<a b='" + String(repeating: ">", count: 1_000_000) + "'/>"),
    Hostile("many elements", "<a>" + String(repeating: "<b/>", count: 300_000) + "</a>"),
    Hostile("UTF-7", "<?xml version='1.0' encoding='UTF-7'?>+ADw-+ACE-DOCTYPE a+AD4-"),
    Hostile("a claim to be UTF-16", "<?xml version='1.0' encoding='UTF-16'?><a/>"),
  ])
  func `an XML document that costs its reader much is refused, in time`(_ document: Hostile) async throws {
    let clock = ContinuousClock.now
    let error = await #expect(throws: RequestError.self) { try await feed(document.text) }
    #expect(error?.kind == .refusedDocument && error?.cause is DocumentRefusal, "\(String(describing: error))")
    #expect(.now - clock < .seconds(20))
  }

  @Test func `UTF-16 is refused, since its tags could not be counted`() async throws {
    try await withServer(of: ["news.xml": try #require(Self.bomb.data(using: .utf16))]) { client in
      let error = await #expect(throws: RequestError.self) {
        try await FeedSession(path: "news.xml").get(on: client).value
      }
      #expect(error?.kind == .refusedDocument)
    }
  }

  @Test func `a page leads to its feed`() async throws {
    let files = [
      "index.html": Data(
        """
        <!doctype html><html lang=en><head><!-- <title>No</title> --><meta charset=utf-8>
        <TITLE>
          Tea &amp; books &#8212; &#x5976;</TITLE><meta name="description" content='It&apos;s about "tea"'>
        <script>document.write("<a href='no'>")</script><style>a > b { content: "<a href=no>" }</style>
        <link rel=alternate type="application/atom+xml" title="News" href=/news.xml></head>
        <body><p>2 < 3<h1>Tea</h1><a class="x" href="one.html">One</a> <a href = 'two.html?a=1&amp;b=2' href=no />Two</a>
        <a>None</a><br/><a href=three.html>Three
        """.utf8),
      "news.xml": Data("<feed><title>Tea</title></feed>".utf8),
    ]
    try await withServer(of: files) { client in
      let page = try await PageSession(path: "index.html").get(on: client).value
      #expect(page.title == "Tea & books — 奶")
      #expect(page.description == "It's about \"tea\"")
      #expect(page.links == ["one.html", "two.html?a=1&b=2", "three.html"])
      let feed = try #require(page.feeds.first)
      #expect(try await FeedSession(path: String(feed.dropFirst())).get(on: client).value.title == "Tea")
    }
  }

  @Test(arguments: ["", "<", "<a", "<a href", "<a href=", "<a href='x", "<!--"])
  func `a broken page is read as far as it goes`(_ html: String) async throws {
    #expect(try await page("<title>Tea</title><a href=1>" + html).title == "Tea")
  }

  @Test func `what nests without an end costs a page nothing, and a page that costs much is refused, in time`()
    async throws
  {
    let clock = ContinuousClock.now
    let tags = ["div", "b", "table", "svg"]
    #expect(try await page(tags.map { String(repeating: "<\($0)>", count: 20_000) }.joined()).links == [])
    #expect(try await page(String(repeating: "<!--", count: 200_000)).links == [])
    #expect(try await page("<a href='" + String(repeating: ">", count: 1_000_000) + "'>").links == [])
    for hostile in [
      String(repeating: "<b>", count: 200_000), "<a " + (0..<100_000).map { "a\($0)" }.joined(separator: " ") + ">",
    ] {
      let error = await #expect(throws: RequestError.self) { try await page(hostile) }
      #expect(error?.kind == .refusedDocument && error?.cause is DocumentRefusal, "\(String(describing: error))")
    }
    #expect(.now - clock < .seconds(60))
  }

  @Test func `a page in the place of a feed is an error that says so, as is a missing one`() async throws {
    try await withServer(of: ["index.html": Data("<p>".utf8)]) { client in
      let wrong = await #expect(throws: RequestError.self) {
        try await FeedSession(path: "index.html").get(on: client).value
      }
      #expect(wrong?.kind == .undecodable)
      #expect(wrong?.message.contains("text/html") == true)
      let missing = await #expect(throws: RequestError.self) {
        try await PageSession(path: "none").get(on: client).value
      }
      #expect(missing?.kind == .httpStatus)
      #expect(missing?.status == 404)
    }
  }
}

/// A document that is made to cost its reader much.
struct Hostile: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let text: String

  init(_ name: String, _ text: String) {
    testDescription = name
    self.text = text
  }
}
