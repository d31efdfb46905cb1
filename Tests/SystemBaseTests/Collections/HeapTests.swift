import SystemBase
import TestSupport
import Testing

@Suite struct HeapTests {
  private final class Action: HeapElement {
    var place: Int?
    let time: Int
    let number: Int

    init(at time: Int, number: Int) { (self.time, self.number) = (time, number) }

    func isBefore(_ other: Action) -> Bool { (time, number) < (other.time, other.number) }
  }

  @Test(arguments: 0..<4)
  func `the first action is the one whose time comes first, whatever was inserted and removed`(seed: UInt64) {
    var (heap, model, random) = (Heap<Action>(), [Action](), SplitMix(seed: seed))
    for number in 0..<2000 {
      if model.isEmpty || Bool.random(using: &random) || number < 100 {
        let action = Action(at: .random(in: 1...100, using: &random), number: number)
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
    var heap = Heap<Action>()
    let actions = (0..<20).map { Action(at: 7, number: $0) }
    for action in actions.shuffled() { heap.insert(action) }
    for action in actions {
      #expect(heap.first === action)
      heap.remove(action)
    }
    #expect(heap.first == nil)
  }
}
