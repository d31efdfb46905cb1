import Foundation
public import GraphQLClient
import HTTPClientCore
import XMLCoder

/// Gets a feed: a session whose response is XML.
///
///     let feed = try await FeedSession(path: "news.xml").get(on: client).value
public struct FeedSession: APISession {
  /// The feed.
  public typealias ResponseType = Feed

  /// The path below the client's base URL.
  public let path: String

  /// Gets the feed at a path.
  public init(path: String) {
    self.path = path
  }

  /// XML within the limits of a feed.
  public var responseParser: ResponseParser<Feed> { .xml }
}

extension ResponseParser where Output: Decodable {
  /// A successful response's XML, in UTF-8, read by XMLCoder. One that has a document type declaration, nests deep, or
  /// is otherwise made to cost its reader much is an error of the kind `refusedDocument`.
  public static var xml: Self {
    ResponseParser(accept: "application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.8") {
      response, _ in
      try response.requireSuccess()
      try response.requireMediaType("XML") { $0 == "application/xml" || $0 == "text/xml" || $0.hasSuffix("+xml") }
      try response.refuse { () throws(DocumentRefusal) in try XMLLimits().check(ByteCursor(response.body)) }
      return try XMLDecoder().decode(Output.self, from: response.body)
    }
  }
}
