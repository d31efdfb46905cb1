public import SystemBase

/// The core of a subject: passes each event to all subscribers, in one order, and keeps the elements to replay.
///
/// All of its state belongs to the thread that is inside the serializer (hence `@unchecked Sendable`). Subscribing and
/// leaving are deliveries like any other, so a late subscriber gets replayed and live events without a gap.
@usableFromInline
final class Hub<Element: Sendable>: Serializer, @unchecked Sendable {
  /// Each member is owned by this list, so that it can be called without a retain, which costs more than the call.
  @usableFromInline var members: ContiguousArray<Unmanaged<Member>?> = []
  @usableFromInline var absent = 0
  @usableFromInline var replay = Fifo<Element>()
  @usableFromInline let capacity: Int
  /// The terminal event, once it has been sent.
  @usableFromInline var ended: (any Error)??
  /// Whether nobody can send any more.
  private var isOver = false

  @usableFromInline init(capacity: Int, replay: Element? = nil) {
    self.capacity = capacity
    if let replay { self.replay.append(replay) }
    super.init(Lifetime())
  }

  /// Nobody can send any more: disposes the remaining subscriptions, and those that come.
  @usableFromInline func close() {
    send(()) {
      self.isOver = true
      for member in self.takeAll() { member.sink.lifetime.dispose() }
    }
  }

  @inlinable func next(_ element: Element) { send(element) { self.deliver($0) } }

  @inlinable func end(_ error: (any Error)?) { send(error) { self.deliverEnd($0) } }

  @usableFromInline func subscribe(_ sink: Sink<Element>) { send(sink) { self.admit($0) } }

  @inlinable func deliver(_ element: Element) {
    if ended != nil { return }
    if capacity > 0 { keep(element) }
    // The list changes only in other deliveries, so its members live until this one is over.
    for index in members.indices {
      members[index]?._withUnsafeGuaranteedRef { member in
        if !member.sink.lifetime.isClosed { member.sink.next(element) }
      }
    }
  }

  @usableFromInline func deliverEnd(_ error: (any Error)?) {
    if ended != nil { return }
    ended = .some(error)
    for member in takeAll() { member.sink.endIfOpen(error) }
  }

  private func takeAll() -> [Member] {
    absent = 0
    return exchange(&members, with: []).compactMap { $0?.takeRetainedValue() }
  }

  @usableFromInline func keep(_ element: Element) {
    if replay.count == capacity { _ = replay.popFirst() }
    replay.append(element)
  }

  private func admit(_ sink: Sink<Element>) {
    for element in replay.all {
      if sink.lifetime.isClosed { return }
      sink.next(element)
    }
    if let ended { return sink.endIfOpen(ended) }
    if isOver { return sink.lifetime.dispose() }
    if sink.lifetime.isClosed { return }
    let member = Member(sink, index: members.count, hub: self)
    members.append(.passRetained(member))
    sink.lifetime.add(member)
  }

  private func dismiss(_ member: Member) {
    guard members.indices.contains(member.index), let own = members[member.index],
      own._withUnsafeGuaranteedRef({ $0 === member })
    else { return }
    members[member.index] = nil
    own.release()
    absent += 1
    if absent * 2 > members.count { compact() }
  }

  private func compact() {
    members.removeAll { $0 == nil }
    absent = 0
    for index in members.indices { members[index]?._withUnsafeGuaranteedRef { $0.index = index } }
  }

  /// A subscriber, and the teardown that removes it.
  ///
  /// `@unchecked Sendable`: only the hub touches `index`, inside its serializer.
  @usableFromInline
  final class Member: Node, @unchecked Sendable {
    @usableFromInline let sink: Sink<Element>
    var index: Int
    let hub: Hub

    init(_ sink: Sink<Element>, index: Int, hub: Hub) {
      self.sink = sink
      self.index = index
      self.hub = hub
    }

    @usableFromInline override func run() {
      hub.send(self) { [hub] in hub.dismiss($0) }
    }
  }
}
