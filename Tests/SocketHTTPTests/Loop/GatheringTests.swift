import Testing

@testable import HTTP
@testable import SocketHTTP

@Suite struct GatheringTests {
  @Test func `where few are under way nothing is held up`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .milliseconds(2), of: 7)
    #expect(gathering.takePause() == nil)
  }

  @Test func `where many are, an answer is held up by a quarter of its time, and the quickest counts`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .seconds(1), of: 8)
    gathering.recordResponse(after: .milliseconds(2), of: 8)
    gathering.recordResponse(after: .seconds(2), of: 8)
    #expect(gathering.takePause() == .microseconds(500))
  }

  @Test func `no answer is held up by more than a millisecond`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .seconds(30), of: 64)
    #expect(gathering.takePause() == .milliseconds(1))
  }

  @Test func `answers that take a moment are not held up`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .microseconds(100), of: 64)
    #expect(gathering.takePause() == nil)
  }

  @Test func `a pause is taken once`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .milliseconds(2), of: 64)
    #expect(gathering.takePause() != nil)
    #expect(gathering.takePause() == nil)
  }

  @Test func `one turn that has both few and many under way is not held up`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .milliseconds(2), of: 8)
    gathering.recordResponse(after: .milliseconds(2), of: 7)
    #expect(gathering.takePause() == nil)
  }
}
