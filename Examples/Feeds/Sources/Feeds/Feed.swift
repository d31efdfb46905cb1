public import Foundation
import GraphQLClient

/// A feed of news, in RSS 2.0 or Atom (RFC 4287).
public struct Feed: Hashable, Sendable {
  /// One piece of news.
  public struct Entry: Hashable, Sendable {
    /// What distinguishes it from all others: Atom's `id`, RSS's `guid`; without that its link, and without a link its
    /// title.
    public let id: String
    /// The title as plain text; empty if it has none.
    public let title: String
    /// The address of its page.
    public let link: String?
    /// When it was published, or last changed; `nil` if the feed does not say so in the form that it should.
    public let date: Date?
  }

  /// The title.
  public let title: String
  /// The entries, in the feed's order.
  public let entries: [Entry]

  /// Makes a feed.
  public init(title: String, entries: [Entry]) {
    self.title = title
    self.entries = entries
  }
}

extension Feed {
  /// Reads a feed from its root element. Links that are relative are of `address`, if that is known. Throws if
  /// the root is neither RSS's nor Atom's, or the title is missing.
  init(_ root: XMLTree, at address: URL?) throws(DecodingFailure) {
    let base = root.base(in: address)
    if root.name == "rss", root.namespace.isEmpty, let channel = root.child("channel") {
      guard let title = channel.child("title")?.text else {
        throw DecodingFailure(path: "title", reason: "a value is missing")
      }
      let channelBase = channel.base(in: base)
      self.init(title: title, entries: channel.children("item").compactMap { Entry(item: $0, in: channelBase) })
    } else if root.name == "feed", ["", "http://www.w3.org/2005/Atom"].contains(root.namespace) {
      guard let title = root.child("title")?.plainText else {
        throw DecodingFailure(path: "title", reason: "a value is missing")
      }
      self.init(title: title, entries: root.children("entry").compactMap { Entry(entry: $0, in: base) })
    } else {
      throw DecodingFailure(path: "", reason: "expected RSS 2.0 or Atom, found <\(root.name)>")
    }
  }
}

extension Feed.Entry {
  /// Reads an item of RSS; `nil` for one without anything to tell it by.
  fileprivate init?(item: XMLTree, in base: URL?) {
    let link = item.text(of: "link").map { item.address($0, in: base) }
    guard let id = item.text(of: "guid") ?? link ?? item.text(of: "title") ?? item.text(of: "description") else {
      return nil
    }
    self.init(
      id: id, title: item.text(of: "title") ?? "", link: link,
      date: item.text(of: "pubDate").flatMap { Date(rfc822: $0) })
  }

  /// Reads an entry of Atom; `nil` for one without anything to tell it by.
  fileprivate init?(entry: XMLTree, in base: URL?) {
    let base = entry.base(in: base)
    let alternate = entry.children("link").first { $0.attributes["rel"] ?? "alternate" == "alternate" }
    let link = alternate.flatMap { link in link.attributes["href"].map { link.address($0, in: base) } }
    let title = entry.child("title")?.plainText ?? ""
    guard let id = entry.text(of: "id") ?? link ?? (title.isEmpty ? nil : title) else { return nil }
    let date = entry.text(of: "updated") ?? entry.text(of: "published")
    self.init(id: id, title: title, link: link, date: date.flatMap { Date(rfc3339: $0) })
  }
}

extension XMLTree {
  /// What the addresses in the element are relative to (XML Base).
  fileprivate func base(in outer: URL?) -> URL? {
    guard let base = attributes["xml:base"] else { return outer }
    return URL(string: base, relativeTo: outer)?.absoluteURL
  }

  /// An address in the element, made absolute if it can be.
  fileprivate func address(_ text: String, in outer: URL?) -> String {
    resolve(text, relativeTo: base(in: outer))
  }

  /// A text construct of Atom (RFC 4287, section 3.1) without its markup: of HTML, which is escaped, and of XHTML.
  fileprivate var plainText: String {
    guard attributes["type"] == "html" else { return text }
    return text.replacing(/<[^>]*>/, with: "").unescapedHTML
  }
}

/// An address in a document, made absolute if the document's own is known.
func resolve(_ address: String, relativeTo base: URL?) -> String {
  let address = address.trimmingCharacters(in: .whitespacesAndNewlines)
  guard let base else { return address }
  return URL(string: address, relativeTo: base)?.absoluteString ?? address
}
