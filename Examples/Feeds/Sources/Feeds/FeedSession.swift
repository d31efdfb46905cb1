public import Foundation
public import GraphQLClient
import HTTPClientCore

/// Gets a feed: a session whose response is XML.
///
///     let feed = try await FeedSession(path: "news.xml").get(on: client).value
public struct FeedSession: APISession {
  /// The feed.
  public typealias ResponseType = Feed

  /// The path below the client's base URL.
  public let path: String

  /// The feed's address, which relative links are of; without it, they stay as the feed writes them.
  public let address: URL?

  /// Gets the feed at a path.
  public init(path: String, address: URL? = nil) {
    (self.path, self.address) = (path, address)
  }

  /// XML within the limits of a feed.
  public var responseParser: ResponseParser<Feed> { .feed(at: address) }
}

extension ResponseParser where Output == Feed {
  /// A successful response's XML, in UTF-8. What is no feed is `undecodable`. What has a document type declaration,
  /// nests deep, or is otherwise made to cost its reader much is an error of the kind `refusedDocument`.
  public static func feed(at address: URL? = nil) -> Self {
    ResponseParser(accept: "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.8") {
      response, _ in
      try response.requireSuccess()
      try response.requireMediaType("XML") { $0 == "application/xml" || $0 == "text/xml" || $0.hasSuffix("+xml") }
      try response.refuse { () throws(DocumentRefusal) in
        try Charset.check(response.charset)
        try XMLLimits().check(ByteCursor(response.body))
      }
      return try Feed(XMLTree(parsing: response.body), at: address)
    }
  }
}
