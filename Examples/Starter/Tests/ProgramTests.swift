import Synchronization
import SystemBase
import Testing

@testable import starter

/// Command lines, on the embedded backend.
@Suite(.timeLimit(.minutes(1))) struct ProgramTests {
  private let folder = Folder()

  private func output(of arguments: String...) async throws -> [String] {
    let lines = Mutex<[String]>([])
    let settings = try Settings(arguments, ["FOLDER": folder.url.path])
    try await Program.run(settings, on: settings.transport()) { line in lines.withLock { $0.append(line) } }
    return lines.withLock { $0 }
  }

  @Test func `list prints a parcel a line`() async throws {
    #expect(try await output(of: "list").first?.hasPrefix("P-1  WAITING  for Wei") == true)
  }

  @Test func `deliver says whether the server knows`() async throws {
    #expect(try await output(of: "deliver", "P-2") == ["P-2 is delivered."])
  }

  @Test func `watch prints the list until the server ends it`() async throws {
    let lines = try await output(of: "watch")
    #expect(lines.last { $0.hasPrefix("P-1") }?.hasPrefix("P-1  DELIVERED  for Wei") == true)
  }

  @Test(arguments: [
    (["lists"], [:], "usage: starter list | deliver ID | watch"),
    (["deliver"], [:], "usage: starter list | deliver ID | watch"),
    (["list"], ["ENDPOINT": ""], "ENDPOINT is a URL, such as https://depot.example/graphql."),
    (["list"], ["TOKEN": ""], "TOKEN is empty: unset it, if there is none."),
    (["list"], ["FOLDER": ""], "FOLDER is empty: unset it for .cache/starter in the home folder."),
    (["list"], ["ENDPOINT": "ftp://depot.example"], "ENDPOINT or TOKEN: "),
    (["list"], ["TOKEN": "two\nlines"], "ENDPOINT or TOKEN: "),
    (["list"], ["FOLDER": "/dev/null"], "FOLDER /dev/null: "),
  ]) func `a wrong setting is named in one line`(
    arguments: [String], environment: [String: String], message: String
  ) throws {
    let error = #expect(throws: SettingsError.self) {
      let settings = try Settings(arguments, environment)
      _ = try settings.parcels(on: settings.transport())
    }
    #expect(error?.description.hasPrefix(message) == true)
    #expect(error?.description.contains("\n") == false)
  }
}
