import StoresTestSupport
import Streams
import Testing

@testable import Stores

@Suite struct PagerMachineTests {
  @Test func `a task that awaits more during a request waits for that one`() {
    let server = FakeServer<Int, Rows>()
    let machine = PagerMachine<Row, Int>(BehaviorSubject(value: PagerState())) { server.fetch($0 ?? 1).map(\.value) }
    let commands = AnyObserver<PagerCommand<Row, Int>> { machine.handle($0) }
    machine.commands = commands
    let told = Mutable<[String]>([])
    for number in 1...3 {
      commands.onNext(.loadMore { state in told.update { $0.append("\(number): \(state.brief)") } })
    }
    #expect(told.value == [])
    #expect(server.count == 1)
    server[0].answer(Rows([Row(id: 1)], next: nil))
    #expect(told.value == ["1: 1 noMore", "2: 1 noMore", "3: 1 noMore"])
    commands.onCompleted()
  }
}
