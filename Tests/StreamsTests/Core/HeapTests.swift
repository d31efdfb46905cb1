import Dispatch
import TestSupport
import Testing

@testable import Streams

@Suite struct HeapTests {
  private func action(at time: UInt64, number: UInt64) -> TimedAction {
    let action = TimedAction(
      at: DispatchTime(uptimeNanoseconds: time), on: DispatchQueue.global(), of: .shared, {})
    action.number = number
    return action
  }

  @Test(arguments: 0..<4)
  func `the first action is the one whose time comes first, whatever was inserted and removed`(seed: UInt64) {
    var (heap, model, random) = (Heap<TimedAction>(), [TimedAction](), SplitMix(seed: seed))
    for number in 0..<2000 {
      if model.isEmpty || Bool.random(using: &random) || number < 100 {
        let action = action(at: .random(in: 1...100, using: &random), number: UInt64(number))
        heap.insert(action)
        model.append(action)
      } else {
        let action = Bool.random(using: &random) ? model.min { $0.isBefore($1) } : model.randomElement(using: &random)
        guard let action, let index = model.firstIndex(where: { $0 === action }) else { continue }
        heap.remove(model.remove(at: index))
        heap.remove(action)
      }
      #expect(heap.first === model.min { $0.isBefore($1) })
      #expect(heap.count == model.count)
    }
  }

  @Test func `actions at one time come in the order in which they were scheduled`() {
    var heap = Heap<TimedAction>()
    let actions = (0..<20).map { action(at: 7, number: $0) }
    for action in actions.shuffled() { heap.insert(action) }
    for action in actions {
      #expect(heap.first === action)
      heap.remove(action)
    }
    #expect(heap.first == nil)
  }
}
