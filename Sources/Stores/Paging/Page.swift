/// One page of a list.
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
  /// Makes a numbered page.
  public init(_ items: [Item], number: Int, isLast: Bool) {
    self.init(items, next: isLast ? nil : number &+ 1)
  }
}

extension Page {
  /// Makes a page of a cursor-based list, from the `pageInfo` of a Relay connection (Relay Cursor Connections, section
  /// 5).
  public init(_ items: [Item], hasNextPage: Bool, endCursor: Cursor?) {
    self.init(items, next: hasNextPage ? endCursor : nil)
  }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}

extension Page: Hashable where Item: Hashable, Cursor: Hashable {}
