import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ProcessesTests {
  /// Whether a process runs, or is paused.
  private func isThere(_ id: Int32) -> Bool {
    (try? String(contentsOfFile: "/proc/\(id)/cmdline", encoding: .utf8))?.isEmpty == false
  }

  @Test func `a program that is paused ends with its object`() throws {
    var program: Program? = try Program(URL(filePath: "/bin/sleep"), ["600"])
    let id = try #require(program?.id)
    program?.pause()
    #expect(isThere(id))
    program = nil
    #expect(!isThere(id))
  }

  @Test(.enabled(if: Chromium.path != nil)) func `a browser leaves no files behind`() async throws {
    var browser: Chromium? = try await Chromium()
    let profile = try #require(browser?.profile.path)
    #expect(FileManager.default.fileExists(atPath: profile))
    browser = nil
    #expect(!FileManager.default.fileExists(atPath: profile))
  }
}
