/// A list of nodes that was taken off its word, newest first. It is walked, never unwound: it may be long.
@usableFromInline
struct NodeList {
  private var head: UInt

  init(_ head: UInt) { self.head = head }

  mutating func pop() -> Node? {
    guard let pointer = UnsafeRawPointer(bitPattern: head) else { return nil }
    let node = Unmanaged<Node>.fromOpaque(pointer).takeRetainedValue()
    head = node.next
    node.next = 0
    return node
  }

  mutating func removeAll() {
    while pop() != nil {}
  }

  mutating func reverse() {
    var reversed: UInt = 0
    while let node = pop() {
      node.next = reversed
      reversed = node.retainedAddress
    }
    head = reversed
  }
}
