import Repository
import Stores
import StoresTestSupport
import Testing

@Suite struct MomentsKeyTests {
  @Test func `S1: users whose names only look the same are apart`() async {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let store = Store(.ofPartial(FakeServer<MomentsKey, Int>().fetch))
    await store.save(1, for: MomentsKey(userID: composed))
    #expect(store.peek(MomentsKey(userID: decomposed)) == nil)
    #expect(store.peek(MomentsKey(userID: "\u{E9}"))?.value == 1)
  }
}
