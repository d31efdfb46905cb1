import Stores
import StoresTestSupport
import Streams
import TestSupport
import Testing

@Suite struct PagerTests {
  private let world = PagerWorld()

  @Test func `pages are requested one after the other, until the last one`() {
    #expect(world.pager.state.brief == " idle")
    world.pager.refresh()
    world.answer(0, [1, 2])
    world.pager.loadMore()
    world.answer(1, [3, 4])
    world.pager.loadMore()
    world.answer(2, [5], isLast: true)
    world.pager.loadMore()
    #expect(
      world.events == [
        " refreshing", "1,2 idle", "1,2 loadingMore", "1,2,3,4 idle", "1,2,3,4 loadingMore", "1,2,3,4,5 noMore",
      ])
    #expect(world.server.requests.value.map(\.key) == [1, 2, 3])
  }

  @Test func `a state says whether it loads, whether there may be more, and what failed`() {
    world.pager.refresh()
    #expect(world.pager.state.isLoading)
    #expect(world.pager.state.mayHaveMore)
    world.answer(0, [1])
    #expect(!world.pager.state.isLoading)
    #expect(world.pager.state.mayHaveMore)
    world.pager.loadMore()
    #expect(world.pager.state.isLoading)
    world.server[1].fail()
    #expect(world.pager.state.error != nil)
    #expect(world.pager.state.mayHaveMore)
    #expect(!world.pager.state.isLoading)
    world.pager.loadMore()
    world.answer(2, [2], isLast: true)
    #expect(world.pager.state.error == nil)
    #expect(!world.pager.state.mayHaveMore)
  }

  @Test func `the first page is loaded by loadMore, too`() {
    world.pager.loadMore()
    world.answer(0, [1], isLast: true)
    #expect(world.events == [" refreshing", "1 noMore"])
  }

  @Test func `rows that have shifted to the next page are shown once, with their newer value`() {
    world.pager.refresh()
    world.answer(0, [3, 2])
    world.pager.loadMore()
    world.answer(1, [2, 1], text: "b", isLast: true)
    #expect(world.events.last == "3,2b,1b noMore")
  }

  @Test func `a row that a page has twice is shown once`() {
    world.pager.refresh()
    world.answer(0, [1, 1, 2], isLast: true)
    #expect(world.events.last == "1,2 noMore")
  }

  @Test func `a refresh shows what was there until its response replaces it`() {
    world.pager.refresh()
    world.answer(0, [1, 2])
    world.pager.refresh()
    world.answer(1, [0, 1], text: "b")
    world.pager.loadMore()
    #expect(world.events == [" refreshing", "1,2 idle", "1,2 refreshing", "0b,1b idle", "0b,1b loadingMore"])
    #expect(world.server[2].key == 2)
  }

  @Test func `a refresh supersedes a loadMore, whose late response is dropped`() {
    world.pager.refresh()
    world.answer(0, [1])
    world.pager.loadMore()
    world.pager.refresh()
    #expect(world.server[1].isCancelled.value)
    world.answer(1, [9])
    world.answer(2, [0])
    world.answer(1, [9])
    #expect(world.events == [" refreshing", "1 idle", "1 loadingMore", "1 refreshing", "0 idle"])
  }

  @Test func `a request for more is not sent during another one`() {
    world.pager.refresh()
    world.pager.loadMore()
    world.answer(0, [1])
    world.pager.loadMore()
    world.pager.loadMore()
    #expect(world.server.count == 2)
  }

  @Test func `a failure keeps what is there, and the same page can be requested again`() {
    world.pager.refresh()
    world.answer(0, [1])
    world.pager.loadMore()
    world.server[1].fail()
    world.pager.loadMore()
    world.answer(2, [2], isLast: true)
    #expect(
      world.events == [
        " refreshing", "1 idle", "1 loadingMore", "1 failed(failure)", "1 loadingMore", "1,2 noMore",
      ])
    #expect(world.server.requests.value.map(\.key) == [1, 2, 2])
  }

  @Test func `more is loaded from where the list ends after a failed refresh`() {
    world.pager.refresh()
    world.answer(0, [1])
    world.pager.refresh()
    world.server[1].fail()
    world.pager.loadMore()
    world.answer(2, [2], isLast: true)
    world.pager.refresh()
    world.server[3].fail()
    world.pager.loadMore()
    #expect(world.server.requests.value.map(\.key) == [1, 1, 2, 1])
    #expect(world.events.suffix(3) == ["1,2 refreshing", "1,2 failed(failure)", "1,2 noMore"])
  }

  @Test func `the first response of a stream that continues is the page`() {
    let pager = Pager<Row, Int>(firstPage: 1) { .concat(.just(Rows([Row(id: $0)], next: nil)), .never()) }
    pager.refresh()
    #expect(pager.state.brief == "1 noMore")
  }

  @Test func `a request that ends without a response has failed`() {
    let pager = Pager<Row, Int>(firstPage: 1) { $0 == 1 ? .just(Rows([], number: 1, isLast: false)) : .empty() }
    pager.refresh()
    pager.loadMore()
    guard case .failed(let error) = pager.state.phase else { return #expect(Bool(false), "\(pager.state.phase)") }
    #expect(error as? StreamError == .noElements)
  }

  @Test func `a server that gives the same cursor again has no more to give`() {
    let pager = Pager<Row, String> { cursor in
      .just(Page([Row(id: cursor?.count ?? 0)], hasNextPage: true, endCursor: "end"))
    }
    pager.refresh()
    pager.loadMore()
    #expect(pager.state.brief == "0,3 noMore")
    #expect(Page<Row, String>([], hasNextPage: true, endCursor: nil).next == nil)
    #expect(Page<Row, String>([], hasNextPage: false, endCursor: "end").next == nil)
  }

  @Test func `a server whose cursors repeat has no more pages, until a refresh`() {
    let next = ["": "a", "a": "b", "b": "c", "c": "a"]
    let pager = Pager<Row, String> { cursor in
      let page = cursor ?? ""
      return .just(Page([Row(id: next.keys.sorted().firstIndex(of: page) ?? -1)], next: next[page]))
    }
    for _ in 0..<2 {
      pager.refresh()
      for _ in 0..<3 {
        #expect(pager.state.brief.hasSuffix("idle"))
        pager.loadMore()
      }
      #expect(pager.state.brief == "0,1,2,3 noMore")
    }
  }

  @Test func `the commands of a watcher are carried out after the state that it handles`() {
    let pager = Pager<Row, Int>(firstPage: 1) { .just(Rows([Row(id: $0)], number: $0, isLast: $0 == 4)) }
    let seen = Mutable<[String]>([])
    _ = pager.states.subscribe(onNext: { [weak pager] state in
      seen.update { $0.append(state.brief) }
      if case .idle = state.phase { pager?.loadMore() }
    })
    #expect(pager.state.brief == "1,2,3,4 noMore")
    #expect(seen.value.count == 9)
    #expect(seen.value.last == "1,2,3,4 noMore")
  }

  @Test func `a cancelled task does not wait for the page, which comes nonetheless`() async throws {
    let world = PagerWorld()
    let refresh = Task { await world.pager.refreshed() }
    // A refresh that comes after the request for more would cancel that.
    try await world.server.wait(forCount: 1)
    let more = Task { await world.pager.loadedMore() }
    for wait in [refresh, more] {
      wait.cancel()
      #expect(await wait.value.items.isEmpty)
    }
    #expect(!world.server[0].isCancelled.value)
    world.answer(0, [1])
    #expect(world.pager.state.brief == "1 idle")
  }

  @Test func `a released pager cancels its request, and ends its states`() {
    let server = FakeServer<Int, Rows>()
    var pager: Pager<Row, Int>? = Pager(firstPage: 1) { server.fetch($0).map(\.value) }
    weak let released = pager
    let states = pager.map { Recorder($0.states) }
    pager?.refresh()
    pager = nil
    #expect(released == nil)
    #expect(server[0].isCancelled.value)
    #expect(states?.isCompleted.value == true)
  }

  @Test func `the rows are those of one order of commands, whatever threads do at once`() throws {
    for _ in 0..<200 {
      let pager = Pager<Row, Int>(firstPage: 1) { .just(Rows([Row(id: $0)], number: $0, isLast: $0 == 50)) }
      let states = Recorder(pager.states)
      try race(4) { thread in
        for _ in 0..<10 { thread == 0 ? pager.refresh() : pager.loadMore() }
      }
      #expect(pager.state.items.map(\.id) == Array(1...pager.state.items.count))
      for state in states.take() { #expect(state.items.map(\.id) == Array(1..<(state.items.count + 1))) }
    }
  }
}
