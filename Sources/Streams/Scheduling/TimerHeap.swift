/// Actions in the order of their times: a binary heap. Each action knows its place, so that it can be removed.
struct TimerHeap {
  private var actions: [TimedAction] = []

  var count: Int { actions.count }

  /// The action whose time comes first.
  var first: TimedAction? { actions.first }

  mutating func insert(_ action: TimedAction) {
    actions.append(action)
    rise(action, from: actions.count - 1)
  }

  /// Removes an action, unless that has been done.
  mutating func remove(_ action: TimedAction) {
    guard let place = action.place else { return }
    action.place = nil
    let last = actions.removeLast()
    if last !== action { rise(last, from: sink(last, from: place)) }
  }

  private mutating func rise(_ action: TimedAction, from start: Int) {
    var place = start
    while place > 0, action.isBefore(actions[(place - 1) / 2]) {
      put(actions[(place - 1) / 2], at: place)
      place = (place - 1) / 2
    }
    put(action, at: place)
  }

  private mutating func sink(_ action: TimedAction, from start: Int) -> Int {
    var place = start
    while let child = firstChild(of: place), actions[child].isBefore(action) {
      put(actions[child], at: place)
      place = child
    }
    put(action, at: place)
    return place
  }

  private func firstChild(of place: Int) -> Int? {
    let (left, right) = (2 * place + 1, 2 * place + 2)
    guard left < actions.count else { return nil }
    return right < actions.count && actions[right].isBefore(actions[left]) ? right : left
  }

  private mutating func put(_ action: TimedAction, at place: Int) {
    actions[place] = action
    action.place = place
  }
}
