import Feeds
import Foundation
import GraphQLClient
import HTTPClientCore
import Streams
import StrictJSON
import Testing

/// Feeds and pages as they are found: none of them keeps to the examples of the standards.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FoundFeedsTests {
  private func feed(_ xml: String, at address: String? = nil) async throws -> Feed {
    try await withServer(of: ["news.xml": Data(xml.utf8)]) {
      try await FeedSession(path: "news.xml", address: address.flatMap { URL(string: $0) }).get(on: $0).value
    }
  }

  private func rss(_ items: String) async throws -> [Feed.Entry] {
    try await feed("<rss><channel><title>Tea</title>\(items)</channel></rss>").entries
  }

  private func page(_ html: Data, at address: String? = nil) async throws -> Page {
    try await withServer(of: ["index.html": html]) {
      try await PageSession(path: "index.html", address: address.flatMap { URL(string: $0) }).get(on: $0).value
    }
  }

  @Test func `a title keeps its spaces between character references and between sections of CDATA`() async throws {
    let entries = try await rss(
      """
      <item><guid>1</guid><title>
        &#8220;Foo&#8221; &#8211; bar
      </title></item>
      <item><guid>2</guid><title><![CDATA[one]]> <![CDATA[two]]></title></item>
      """)
    #expect(entries.map(\.title) == ["“Foo” – bar", "one two"])
  }

  @Test(arguments: [
    (
      "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><channel><title>T</title></channel></rdf:RDF>",
      "RDF"
    ),
    ("<svg xmlns='http://www.w3.org/2000/svg'><title>A circle</title></svg>", "svg"),
  ]) func `XML of another kind is an error that names it`(xml: String, name: String) async throws {
    let error = await #expect(throws: RequestError.self) { try await feed(xml) }
    #expect(error?.kind == .undecodable)
    #expect(error.map { "\($0)".contains("<\(name)>") } == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    "Wed, 02 Oct 2002 13:00:00 GMT", "02 Oct 2002 13:00:00 GMT", "2 Oct 2002 13:00 GMT", "Wed, 02 Oct 02 13:00:00 UT",
    "2 Oct 02 09:00 EDT", "Wed,2 October 2002 15:00:00 +0200", "Wed, 02 Oct 2002 09:30:00 -0330", "02 oct 2002 13:00 z",
  ]) func `all forms of RFC 822's dates are read`(date: String) async throws {
    let entries = try await rss("<item><guid>1</guid><pubDate>\(date)</pubDate></item>")
    #expect(entries.map(\.date) == [Date(timeIntervalSince1970: 1_033_563_600)])
  }

  @Test(arguments: [
    "2 Oct 13:00 GMT", "31 Feb 2002 13:00 GMT", "2 Oct 2002 24:00 GMT", "2 Oct 2002 13:60 GMT", "2 Oct 2002 13 GMT",
    "2 Oct 2002 13:00", "2 Oct 2002 13:00 CEST", "2 Oct 2002 13:00 +02:0", "-2 Oct 2002 13:00 GMT",
    "2 Oct 9223372036854775807 13:00 GMT", "2 Foo 2002 13:00 GMT", ",", "Wed",
  ]) func `what is no date is none`(date: String) async throws {
    let entries = try await rss("<item><guid>1</guid><pubDate>\(date)</pubDate></item>")
    #expect(entries.map(\.date) == [nil])
  }

  @Test func `the last century's years have two digits, too`() async throws {
    let entries = try await rss("<item><guid>1</guid><pubDate>1 Jan 70 00:00 GMT</pubDate></item>")
    #expect(entries.map(\.date) == [Date(timeIntervalSince1970: 0)])
  }

  @Test(arguments: ["utf8", "UTF-8", "US-ASCII"])
  func `encodings of which UTF-8 is one are read`(name: String) async throws {
    let feed = try await feed("<?xml version='1.0' encoding='\(name)'?><feed><title>Tea &#8212;</title></feed>")
    #expect(feed.title == "Tea —")
  }

  @Test(arguments: [
    "<meta charset=iso-8859-1><title>Th\u{E9}</title>",
    "<meta http-equiv=Content-Type content='text/html; charset=windows-1252'><title>Th\u{E9}</title>",
    "<title>Th\u{E9}</title>",
    "<meta charset=utf-8><title>Th\u{E9}</title>",
  ]) func `a page in another encoding is an error`(html: String) async throws {
    let latin1 = try #require(html.data(using: .isoLatin1))
    let error = await #expect(throws: RequestError.self) { try await page(latin1) }
    #expect(error?.kind == .refusedDocument)
    #expect(error.map { "\($0)".contains("UTF-8") } == true, "\(String(describing: error))")
  }

  @Test func `a feed in another encoding is an error`() async throws {
    let xml = "<?xml version='1.0' encoding='ISO-8859-1'?><feed><title>Th\u{E9}</title></feed>"
    let undeclared = "<feed><title>Th\u{E9}</title></feed>"
    for (text, kind) in [(xml, RequestError.Kind.refusedDocument), (undeclared, .undecodable)] {
      let latin1 = try #require(text.data(using: .isoLatin1))
      try await withServer(of: ["news.xml": latin1]) { client in
        let error = await #expect(throws: RequestError.self) {
          try await FeedSession(path: "news.xml").get(on: client).value
        }
        #expect(error?.kind == kind)
      }
    }
  }

  @Test func `the encoding that the server names counts, not the page's`() throws {
    let html = Data("<meta charset=iso-8859-1><title>Thé</title>".utf8)
    func page(_ type: String) throws -> Page {
      let headers = HTTPHeaders([try HTTPField(name: "Content-Type", value: type)])
      return try ResponseParser.page().parse(HTTPResponse(status: 200, headers: headers, body: html), by: JSONCoder())
    }
    #expect(try page("text/html; charset=\"UTF-8\"").title == "Thé")
    #expect(throws: RequestError.self) { try page("text/html; charset=Shift_JIS") }
  }

  @Test func `a page with pictures in it is read`() async throws {
    let picture = "data:image/png;base64," + String(repeating: "iVBORw0KGgo=", count: 2_000)
    let page = try await page(
      Data("<title>Tea</title><img src=\"\(picture)\"><a href=\"\(picture)\">Save</a><a href=1>One</a>".utf8))
    #expect(page.title == "Tea")
    #expect(page.links == ["1"])
  }

  @Test func `an entry with a picture in it is read`() async throws {
    let picture = "data:image/png;base64," + String(repeating: "iVBORw0KGgo=", count: 2_000)
    #expect(try await rss("<item><guid>1</guid><enclosure url=\"\(picture)\"/></item>").map(\.id) == ["1"])
  }

  @Test func `a link to a feed may have other relations, and a type with a charset`() async throws {
    let page = try await page(
      Data(
        """
        <link rel="nofollow Alternate" type="application/rss+xml; charset=utf-8" href=/news.xml>
        <link rel=stylesheet type="text/css" href=/a.css><link rel=alternate hreflang=de href=/de>
        """.utf8))
    #expect(page.feeds == ["/news.xml"])
  }

  @Test func `a page's relative links are of its address, or of its base`() async throws {
    let links = "<link rel=alternate type=application/atom+xml href=news.xml><a href=' ../one '>One</a>"
    let address = "https://tea.example/blog/index.html"
    let plain = try await page(Data(links.utf8), at: address)
    #expect(plain.feeds == ["https://tea.example/blog/news.xml"])
    #expect(plain.links == ["https://tea.example/one"])
    #expect(try await page(Data("<base href=/a/b/>\(links)".utf8), at: address).links == ["https://tea.example/a/one"])
  }

  @Test func `a feed's relative links are of its address, or of its bases`() async throws {
    let atom = """
      <feed xmlns="http://www.w3.org/2005/Atom" xml:base="/blog/"><title>Tea</title>
        <entry><id>1</id><title>One</title><link href="1"/></entry>
        <entry xml:base="2003/"><id>2</id><title>Two</title><link href="2"/></entry></feed>
      """
    let entries = try await feed(atom, at: "https://tea.example/news.xml").entries
    #expect(entries.map(\.link) == ["https://tea.example/blog/1", "https://tea.example/blog/2003/2"])
    let rss = "<rss><channel><title>Tea</title><item><link>/1</link></item></channel></rss>"
    #expect(try await feed(rss, at: "https://tea.example/news.xml").entries.map(\.link) == ["https://tea.example/1"])
    #expect(try await feed(rss).entries.map(\.link) == ["/1"])
  }

  @Test func `titles in HTML and in XHTML are read as text`() async throws {
    let feed = try await feed(
      """
      <feed xmlns="http://www.w3.org/2005/Atom">
        <title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Tea <b>and</b> books</div></title>
        <entry><id>1</id><title type="html">&lt;i&gt;Tea&lt;/i&gt; &amp;amp; books</title></entry></feed>
      """)
    #expect(feed.title == "Tea and books")
    #expect(feed.entries.map(\.title) == ["Tea & books"])
  }

  @Test func `an entry is told by what it has`() async throws {
    let items = try await rss(
      "<item><title>Only a title</title></item><item><description>Only a text</description></item><item/>")
    #expect(items.map(\.id) == ["Only a title", "Only a text"])
    let atom = try await feed("<feed><title>Tea</title><entry><link href='1'/></entry><entry/></feed>").entries
    #expect(atom.map(\.id) == ["1"])
  }

  @Test func `ten thousand entries are read, in time`() async throws {
    let item = "<item><title>Tea</title><pubDate>Wed, 02 Oct 2002 13:00:00 GMT</pubDate></item>"
    let xml = "<rss><channel><title>Tea</title>\(String(repeating: item, count: 10_000))</channel></rss>"
    let response = HTTPResponse(status: 200, body: Data(xml.utf8))
    let start = processorTime()
    let feed = try ResponseParser.feed().parse(response, by: JSONCoder())
    #expect(feed.entries.count == 10_000)
    // In debug, half of it; with a DateFormatter for each entry, twice as much.
    #expect(processorTime() - start < 2)
  }

  /// The seconds that this thread has worked, however busy the machine is.
  private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
