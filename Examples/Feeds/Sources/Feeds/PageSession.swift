public import Foundation
public import GraphQLClient
import HTTPClientCore

/// What a page of the web says about itself, and where it links to.
public struct Page: Hashable, Sendable {
  /// The title; empty if it has none.
  public var title = ""
  /// The description for search engines.
  public var description: String?
  /// The addresses of the feeds with the page's news; of those over 16 KB, none.
  public var feeds: [String] = []
  /// The addresses of its links; of those over 16 KB, such as a file in a `data:` URL, none.
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

  /// The page's address, which relative links are of; without it, they stay as the page writes them.
  public let address: URL?

  /// Gets the page at a path.
  public init(path: String, address: URL? = nil) {
    (self.path, self.address) = (path, address)
  }

  /// HTML within the limits of a page.
  public var responseParser: ResponseParser<Page> { .page(at: address) }
}

extension ResponseParser where Output == Page {
  /// A successful response's HTML, in UTF-8. A page that is made to cost its reader much, or in another encoding, is an
  /// error of the kind `refusedDocument`.
  public static func page(at address: URL? = nil) -> Self {
    ResponseParser(accept: "text/html, application/xhtml+xml;q=0.9") { response, _ in
      try response.requireSuccess()
      try response.requireMediaType("HTML") { $0 == "text/html" || $0 == "application/xhtml+xml" }
      return try response.refuse { () throws(DocumentRefusal) in
        try Charset.check(response.charset)
        return try Page(html: response.body, isCharsetKnown: response.charset != nil, at: address)
      }
    }
  }
}

extension Page {
  /// Reads a page. Where the server has named the encoding, what the page says of it does not count.
  init(html bytes: some Collection<UInt8>, isCharsetKnown: Bool, at address: URL?) throws(DocumentRefusal) {
    var html = HTMLTokenizer(bytes)
    var hasTitle = false
    var base: URL?
    while let tag = try html.nextStartTag() {
      switch tag.name {
      case "title" where !hasTitle:
        title = html.text
        hasTitle = true
      case "meta":
        if !isCharsetKnown { try Charset.check(tag.charset) }
        if tag["name"]?.lowercased() == "description" { description = tag["content"] }
      case "base" where base == nil:
        base = tag["href"].flatMap { URL(string: $0, relativeTo: address)?.absoluteURL }
      case "link" where tag.isFeed:
        if let address = tag["href"] { feeds.append(address) }
      case "a", "area":
        if let address = tag["href"] { links.append(address) }
      default: break
      }
    }
    // After what the page says of its encoding, which tells more.
    guard String(validating: bytes, as: UTF8.self) != nil else { throw DocumentRefusal("It is not UTF-8.") }
    feeds = feeds.map { resolve($0, relativeTo: base ?? address) }
    links = links.map { resolve($0, relativeTo: base ?? address) }
  }
}

extension HTMLTokenizer.StartTag {
  /// Whether it leads to a feed of the page's news: `rel` is a list of words.
  fileprivate var isFeed: Bool {
    let type = self["type"]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    return ["application/rss+xml", "application/atom+xml"].contains(type)
      && self["rel"]?.lowercased().split(whereSeparator: \.isWhitespace).contains("alternate") == true
  }

  /// The encoding that a `meta` names.
  fileprivate var charset: String? {
    if let name = self["charset"] { return name.trimmingCharacters(in: .whitespaces) }
    guard self["http-equiv"]?.lowercased() == "content-type" else { return nil }
    return Charset.name(inContentType: self["content"])
  }
}
