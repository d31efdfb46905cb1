/// A list of nodes, newest first, that was taken off its atomic word. Released in a loop, since recursion could
/// overflow the stack.
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
