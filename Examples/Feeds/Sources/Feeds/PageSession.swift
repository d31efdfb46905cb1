public import GraphQLClient
import HTTPClientCore

/// What a page of the web says about itself, and where it links to.
public struct Page: Hashable, Sendable {
  /// The title; empty if it has none.
  public var title = ""
  /// The description for search engines.
  public var description: String?
  /// The addresses of the feeds with the page's news, as the page writes them.
  public var feeds: [String] = []
  /// The addresses of its links, as the page writes them.
  public var links: [String] = []
}

/// Gets a page: a session whose response is HTML.
///
///     let page = try await PageSession(path: "index.html").get(on: client).value
public struct PageSession: APISession {
  /// The page.
  public typealias ResponseType = Page

  /// The path below the client's base URL.
  public let path: String

  /// Gets the page at a path.
  public init(path: String) {
    self.path = path
  }

  /// HTML within the limits of a page.
  public var responseParser: ResponseParser<Page> { .page }
}

extension ResponseParser where Output == Page {
  /// A successful response's HTML, in UTF-8. A page that is made to cost its reader much is an error of the kind
  /// `refusedDocument`.
  public static var page: Self {
    ResponseParser(accept: "text/html, application/xhtml+xml;q=0.9") { response, _ in
      try response.requireSuccess()
      try response.requireMediaType("HTML") { $0 == "text/html" || $0 == "application/xhtml+xml" }
      return try response.refuse { () throws(DocumentRefusal) in try Page(html: response.body) }
    }
  }
}

extension Page {
  init(html: some Collection<UInt8>) throws(DocumentRefusal) {
    var html = HTMLTokenizer(html)
    var hasTitle = false
    while let tag = try html.nextStartTag() {
      switch tag.name {
      case "title" where !hasTitle:
        title = html.text
        hasTitle = true
      case "meta" where tag["name"]?.lowercased() == "description": description = tag["content"]
      case "link" where tag["rel"]?.lowercased() == "alternate" && tag.isFeed:
        if let address = tag["href"] { feeds.append(address) }
      case "a", "area":
        if let address = tag["href"] { links.append(address) }
      default: break
      }
    }
  }
}

extension HTMLTokenizer.StartTag {
  fileprivate var isFeed: Bool {
    ["application/rss+xml", "application/atom+xml"].contains(self["type"]?.lowercased())
  }
}
