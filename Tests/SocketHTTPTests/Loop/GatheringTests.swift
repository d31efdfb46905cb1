import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct GatheringTests {
  @Test func `responses are not delayed where few exchanges run`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .milliseconds(2), of: 7)
    #expect(gathering.takePause() == nil)
  }

  @Test func `a response is delayed by a quarter of the quickest one's time where many exchanges run`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .seconds(1), of: 8)
    gathering.recordResponse(after: .milliseconds(2), of: 8)
    gathering.recordResponse(after: .seconds(2), of: 8)
    #expect(gathering.takePause() == .microseconds(500))
  }

  @Test func `no response is delayed by more than a millisecond`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .seconds(30), of: 64)
    #expect(gathering.takePause() == .milliseconds(1))
  }

  @Test func `responses that take long are not delayed`() {
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

  @Test func `a turn that has both few and many exchanges is not delayed`() {
    var gathering = Gathering()
    gathering.recordResponse(after: .milliseconds(2), of: 8)
    gathering.recordResponse(after: .milliseconds(2), of: 7)
    #expect(gathering.takePause() == nil)
  }
}
