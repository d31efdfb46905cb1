import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

/// Changes of the rows, and refreshes that are awaited.
@Suite(.timeLimit(.minutes(1))) struct PagerEditingTests {
  private let world = PagerWorld()

  @Test func `an edit is shown at once, and is repeated on the pending response alone`() {
    world.pager.refresh()
    world.answer(0, [1, 2])
    world.pager.loadMore()
    world.pager.edit { rows in
      rows.removeAll { $0.id == 1 }
      rows = rows.map { Row(id: $0.id, text: "!") }
    }
    world.answer(1, [2, 3])
    world.pager.loadMore()
    world.answer(2, [1, 3, 4], isLast: true)
    #expect(
      world.events == [
        " refreshing", "1,2 idle", "1,2 loadingMore", "2! loadingMore", "2!,3! idle", "2!,3! loadingMore",
        "2!,3,1,4 noMore",
      ])
  }

  @Test func `an edit stays until a refresh that began after it`() {
    world.pager.refresh()
    world.pager.edit { $0.insert(Row(id: 9), at: 0) }
    world.pager.refresh()
    #expect(world.events == [" refreshing", "9 refreshing", "9 refreshing"])
    world.answer(1, [1])
    #expect(world.events == ["1 idle"])
  }

  @Test(arguments: [true, false])
  func `a deletion is not made again to a refresh that took over after it`(_ fromMore: Bool) {
    world.pager.refresh()
    world.answer(0, [1, 2])
    if fromMore { world.pager.loadMore() } else { world.pager.refresh() }
    world.pager.edit { $0.removeAll { $0.id == 1 } }
    #expect(world.events.last == (fromMore ? "2 loadingMore" : "2 refreshing"))
    world.pager.refresh()
    world.answer(2, [1, 2])
    #expect(world.events.last == "1,2 idle")
  }

  @Test func `an edit while nothing is requested is replaced by the next refresh`() {
    world.pager.refresh()
    world.answer(0, [1, 2])
    world.pager.edit { $0.removeFirst() }
    world.pager.refresh()
    world.answer(1, [1, 2])
    #expect(world.events.last == "1,2 idle")
  }

  @Test func `an edit during a request that fails is made once`() {
    world.pager.refresh()
    world.answer(0, [1])
    world.pager.loadMore()
    world.pager.edit { $0.removeAll() }
    world.server[1].fail()
    world.pager.loadMore()
    world.answer(2, [1, 2], isLast: true)
    #expect(world.events.suffix(3) == [" failed(failure)", " loadingMore", "1,2 noMore"])
  }

  @Test func `an edit shows each row once, and changes nothing else`() {
    world.pager.refresh()
    world.answer(0, [1, 2], isLast: true)
    world.pager.edit { $0 += [Row(id: 1, text: "b"), Row(id: 3)] }
    #expect(world.events.last == "1b,2,3 noMore")
  }

  private let like: @Sendable (inout [Row]) -> Void = { rows in rows = rows.map { Row(id: $0.id, text: "!") } }

  @Test func `an edit can be undone, also after more pages and refreshes`() {
    world.pager.refresh()
    world.answer(0, [1, 2])
    let edit = world.pager.edit { $0.removeAll { $0.id == 1 } }
    world.pager.loadMore()
    world.answer(1, [3])
    #expect(world.events.last == "2,3 idle")
    edit.undo()
    edit.undo()
    #expect(world.events == ["1,2,3 idle"])
    let other = world.pager.edit { $0.removeAll { $0.id == 2 } }
    world.pager.refresh()
    world.answer(2, [1, 2])
    #expect(world.events.last == "1 idle")
    other.undo()
    #expect(world.events == ["1,2 idle"])
  }

  @Test func `an edit is undone alone, in any order`() {
    world.pager.refresh()
    world.answer(0, [1, 2, 3])
    let edits = (1...3).map { id in world.pager.edit { $0.removeAll { $0.id == id } } }
    edits[1].undo()
    #expect(world.events.last == "2 idle")
    edits[0].accept()
    edits[0].undo()
    edits[2].undo()
    #expect(world.events == ["2,3 idle"])
  }

  @Test func `an accepted edit stays through a refresh that began before it was accepted`() {
    world.pager.refresh()
    world.answer(0, [3])
    let edit = world.pager.edit(like)
    world.pager.refresh()
    edit.accept()
    world.answer(1, [3])
    #expect(world.events == [" refreshing", "3 idle", "3! idle", "3! refreshing", "3! idle"])
    world.pager.refresh()
    world.answer(2, [3])
    #expect(world.events == ["3! refreshing", "3 idle"])
  }

  @Test func `an edit that is accepted behind one that is not stays in its place`() {
    world.pager.refresh()
    world.answer(0, [1, 2])
    let first = world.pager.edit { $0.insert(Row(id: 8), at: 0) }
    world.pager.edit { $0.insert(Row(id: 9), at: 0) }
    world.pager.loadMore()
    world.answer(1, [3])
    #expect(world.events.last == "9,8,1,2,3 idle")
    first.undo()
    #expect(world.events == ["9,1,2,3 idle"])
    world.pager.refresh()
    world.answer(2, [1])
    #expect(world.events.last == "1 idle")
  }

  private enum Ending: CaseIterable { case response, failure, disposal }

  @Test(arguments: Ending.allCases)
  private func `a mutation is shown at once, stays through refreshes, and is undone unless it is accepted`(
    ending: Ending
  ) {
    world.pager.refresh()
    world.answer(0, [3])
    let server = FakeServer<Int, String>()
    let response = Recorder(world.pager.mutate(optimistic: like) { server.fetch(0).map(\.value) })
    world.pager.refresh()
    world.answer(1, [3])
    world.pager.refresh()
    #expect(world.events.suffix(4) == ["3! idle", "3! refreshing", "3! idle", "3! refreshing"])
    switch ending {
    case .response: server[0].answer("done")
    case .failure: server[0].fail()
    case .disposal: response.dispose()
    }
    world.answer(2, [3])
    #expect(world.events == (ending == .response ? ["3! idle"] : ["3 refreshing", "3 idle"]))
    #expect(response.take() == (ending == .response ? ["done"] : []))
    #expect((response.error.value != nil) == (ending == .failure))
    #expect(server[0].isCancelled.value)
  }

  @Test func `a task that awaits a refresh gets its first page`() async throws {
    let pager = world.pager
    async let refreshed = pager.refreshed()
    try await world.server.wait(forCount: 1)
    world.answer(0, [1, 2])
    #expect(await refreshed.brief == "1,2 idle")
  }

  @Test(arguments: [false, true])
  func `all tasks that await a refresh get the page of the last one, or its failure`(isFailure: Bool) async throws {
    let (server, pager) = (world.server, world.pager)
    async let one = pager.refreshed()
    try await server.wait(forCount: 1)
    async let other = pager.refreshed()
    try await server.wait(forCount: 2)
    pager.refresh()
    try await server.wait(forCount: 3)
    #expect(server[0].isCancelled.value)
    #expect(server[1].isCancelled.value)
    if isFailure { server[2].fail() } else { world.answer(2, [1]) }
    for state in await [one, other] { #expect(state.brief == (isFailure ? " failed(failure)" : "1 idle")) }
  }

  @Test func `a task that awaits a refresh keeps its pager`() async throws {
    let server = FakeServer<Int, Rows>()
    let task = Task { await Pager<Row, Int>(firstPage: 1) { server.fetch($0).map(\.value) }.refreshed() }
    try await server.wait(forCount: 1)
    #expect(!server[0].isCancelled.value)
    server[0].answer(Rows([Row(id: 1)], next: nil))
    #expect(await task.value.brief == "1 noMore")
  }

  @Test func `a task that is cancelled gets the state at that moment, and the request continues for others`()
    async throws
  {
    let (server, pager) = (world.server, world.pager)
    let task = Task { await pager.refreshed() }
    try await server.wait(forCount: 1)
    task.cancel()
    #expect(await task.value.brief == " refreshing")
    #expect(!server[0].isCancelled.value)
    world.answer(0, [1])
    #expect(pager.state.brief == "1 idle")
  }

  @Test func `a task that awaits a refresh without a page gets an error`() async {
    let pager = Pager<Row, Int>(firstPage: 1) { _ in .empty() }
    #expect(await pager.refreshed().error as? StreamError == .noElements)
  }

  @Test func `a task that awaits more gets the next page`() async throws {
    let (server, pager) = (world.server, world.pager)
    async let first = pager.loadedMore()
    try await server.wait(forCount: 1)
    world.answer(0, [1])
    #expect(await first.brief == "1 idle")
    async let second = pager.loadedMore()
    try await server.wait(forCount: 2)
    world.answer(1, [2], isLast: true)
    #expect(await second.brief == "1,2 noMore")
    #expect(await pager.loadedMore().brief == "1,2 noMore", "there is no more to wait for")
    #expect(server.count == 2)
  }

  @Test func `a task that awaits more gets a failure, and an error for the refresh that replaced it`() async throws {
    let (server, pager) = (world.server, world.pager)
    pager.refresh()
    world.answer(0, [1])
    async let failed = pager.loadedMore()
    try await server.wait(forCount: 2)
    server[1].fail()
    #expect(await failed.brief == "1 failed(failure)")
    async let more = pager.loadedMore()
    try await server.wait(forCount: 3)
    pager.refresh()
    // The thread that has made the request before may make this one, too.
    try await server.wait(forCount: 4)
    world.answer(3, [7])
    #expect(await more.brief == "7 idle")
  }
}
