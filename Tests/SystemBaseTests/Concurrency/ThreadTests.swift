import Foundation
import SystemBase
import Testing

@Suite struct ThreadTests {
  @Test func `a thread has its name, and ends with what it runs`() throws {
    let (name, done) = (Locked(""), DispatchSemaphore(value: 0))
    try startThread(named: "a name", stackSize: 512 << 10) {
      name.withLock { $0 = Thread.current.name ?? "" }
      done.signal()
    }
    #expect(done.wait(timeout: .now() + .seconds(10)) == .success)
    #expect(name.withLock { $0 } == "a name")
  }

  @Test func `a thread that the system does not give is an error, and not one that never runs`() {
    #expect(throws: SystemError.self) {
      // More than there are addresses.
      try startThread(named: "large", stackSize: 1 << 47) { Issue.record("it runs") }
    }
  }
}
