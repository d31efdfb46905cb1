/// A part of a list that a server gives piece by piece.
public struct Page<Item: Sendable, Cursor: Sendable>: Sendable {
  /// The rows, in the server's order.
  public var items: [Item]

  /// The cursor of the next page; `nil` on the last page. A ``Pager`` also takes this page for the last if it has used
  /// the cursor before.
  public var next: Cursor?

  /// Makes a page.
  public init(_ items: [Item], next: Cursor?) {
    self.items = items
    self.next = next
  }
}

extension Page where Cursor == Int {
  /// A page that is found by its number.
  public init(_ items: [Item], number: Int, isLast: Bool) {
    self.init(items, next: isLast ? nil : number &+ 1)
  }
}

extension Page {
  /// A page that is found by a cursor, as a Relay connection's `pageInfo` tells it (Relay Cursor Connections, section 5).
  public init(_ items: [Item], hasNextPage: Bool, endCursor: Cursor?) {
    self.init(items, next: hasNextPage ? endCursor : nil)
  }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}
