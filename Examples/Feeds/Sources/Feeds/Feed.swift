public import Foundation

/// A feed of news, in RSS 2.0 or Atom (RFC 4287).
public struct Feed: Hashable, Sendable {
  /// One piece of news.
  public struct Entry: Hashable, Sendable {
    /// What distinguishes it from all others: Atom's `id`; RSS's `guid`, or else its link.
    public let id: String
    /// The title; empty if it has none.
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

extension Feed: Decodable {
  private enum CodingKeys: String, CodingKey {
    case channel, title, entry
  }

  /// Reads a feed from its root: RSS has a `channel` there; what has none is read as Atom.
  public init(from decoder: any Decoder) throws {
    let root = try decoder.container(keyedBy: CodingKeys.self)
    if let channel = try root.decodeIfPresent(RSSChannel.self, forKey: .channel) {
      title = channel.title
      entries = channel.item.compactMap { item in
        guard let id = item.guid ?? item.link else { return nil }
        return Entry(
          id: id, title: item.title ?? "", link: item.link, date: item.pubDate.flatMap { Date(rfc822: $0) })
      }
    } else {
      title = try root.decode(String.self, forKey: .title)
      entries = try root.decode([AtomEntry].self, forKey: .entry).map { entry in
        let link = entry.link.first { $0.rel ?? "alternate" == "alternate" }
        return Entry(id: entry.id, title: entry.title, link: link?.href, date: Date(rfc3339: entry.updated))
      }
    }
  }
}

private struct RSSChannel: Decodable {
  struct Item: Decodable {
    let guid: String?
    let title: String?
    let link: String?
    let pubDate: String?
  }

  let title: String
  let item: [Item]
}

private struct AtomEntry: Decodable {
  struct Link: Decodable {
    let href: String
    let rel: String?
  }

  let id: String
  let title: String
  let updated: String
  let link: [Link]
}

extension Date {
  /// A date of RSS, such as `Wed, 02 Oct 2002 13:00:00 GMT`.
  fileprivate init?(rfc822 text: String) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    guard let date = formatter.date(from: text) else { return nil }
    self = date
  }

  /// A date of Atom, such as `2003-12-13T18:30:02Z`.
  fileprivate init?(rfc3339 text: String) {
    let whole = try? Date(text, strategy: .iso8601)
    let parsed = try? whole ?? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    guard let parsed else { return nil }
    self = parsed
  }
}
