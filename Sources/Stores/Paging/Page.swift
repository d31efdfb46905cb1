/// One page of a list.
public struct Page<Item: Sendable, Cursor: Sendable>: Sendable {
  /// The rows, in the server's order.
  public var items: [Item]

  /// The cursor of the next page; `nil` on the last page. A ``Pager`` also takes this page for the last if it has used
  /// the cursor before.
  public var next: Cursor?

  /// The cursor of the page before it; `nil` on the first page, and in lists that are loaded forwards only. A ``Pager``
  /// does not use it, a ``ConnectionPager`` does.
  public var previous: Cursor?

  /// Makes a page.
  public init(_ items: [Item], next: Cursor?, previous: Cursor? = nil) {
    self.items = items
    self.next = next
    self.previous = previous
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
  public init(
    _ items: [Item], hasNextPage: Bool, endCursor: Cursor?, hasPreviousPage: Bool = false, startCursor: Cursor? = nil
  ) {
    self.init(items, next: hasNextPage ? endCursor : nil, previous: hasPreviousPage ? startCursor : nil)
  }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}

extension Page: Hashable where Item: Hashable, Cursor: Hashable {}
