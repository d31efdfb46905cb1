import Foundation
import TestSupport
import Testing

@Suite struct ProcessLimitTests {
  @Test func `a process that stands still is ended`() async {
    let ending = await #expect(processExitsWith: .failure) {
      endProcess(after: 1)
      while true { sleep(60) }
    }
    #expect(ending?.exitStatus == .signal(SIGALRM))
  }
}
