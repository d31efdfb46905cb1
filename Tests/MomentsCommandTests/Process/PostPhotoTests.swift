import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite("moments post-photo")
struct PostPhotoTests {
  /// A photo in a folder that goes away with this object.
  private final class Photo: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "moments-photo-\(UUID().uuidString)")
    let bytes: [UInt8]
    var path: String { folder.appending(path: "早安 1.jpg").path(percentEncoded: false) }

    init(size: Int = 3_000_000) throws {
      bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 13 ^ $0 >> 7) }
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(bytes).write(to: URL(filePath: path))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
  }

  private func firstPhoto(_ moment: JSONValue) throws -> String {
    guard case .array(let photos)? = moment["photos"], case .string(let url)? = photos.first else {
      throw CocoaError(.coderValueNotFound)
    }
    return url
  }

  @Test func `the server gets the file as it is, and the new moment is shown`() async throws {
    let server = try await BFFServer.start()
    let photo = try Photo()
    let account = ["--endpoint", server.graphqlURL.absoluteString, "--user", "5"]
    let result = try await Moments.run(["post-photo", photo.path, "--title", "早安", "--json"] + account)
    result.expectSuccess()
    let moment = try JSONValue(result.output)
    #expect(moment["title"] == "早安")
    #expect(moment["type"] == "PHOTOS")
    #expect(moment["isLiked"] == false)
    let url = try #require(URL(string: firstPhoto(moment)))
    let stored = try await RawHTTP.get(url.path, port: server.port)
    #expect(stored.body == photo.bytes)
    #expect(stored.head.lowercased().contains("content-type: image/jpeg"))

    let timeline = try await Moments.run(["--json"] + account)
    guard case .array(let moments)? = try JSONValue(timeline.output)["moments"] else {
      Issue.record("no moments: \(timeline.outputText)")
      return
    }
    #expect(moments.first == moment)
  }

  @Test func `the new moment is in the cached timeline, and a photo needs no title`() async throws {
    let account = try Account.offline()
    let photo = try Photo(size: 10)
    let posted = try await account.online { _ in
      try await account.run("--user", "5").expectSuccess()
      return try await account.run("post-photo", photo.path, "--user", "5", "--json")
    }
    posted.expectSuccess()
    let id = try JSONValue(posted.output)["id"]
    let kept = try await account.run("--policy", "cacheOnly", "--user", "5", "--json")
    guard case .array(let moments)? = try JSONValue(kept.output)["moments"] else {
      Issue.record("no moments: \(kept.outputText)")
      return
    }
    #expect(moments.count == 1)
    #expect(moments.first?["id"] == id)
    #expect(id != nil)
  }

  @Test func `it works without a server, too`() async throws {
    let photo = try Photo(size: 5)
    let result = try await Moments.run(["post-photo", photo.path, "--title", "Hello"])
    result.expectSuccess()
    #expect(result.outputText.contains("Hello"))
    #expect(result.outputText.contains("m0-5"))
  }

  /// Begins it with both streams on one terminal.
  private func startInTerminal(_ arguments: [String], environment: [String: String?] = [:]) throws -> ChildProcess {
    let command = [try RepositoryLayout.executable("moments").path] + arguments
    let clean: [String: String?] = ["COLUMNS": nil, "NO_COLOR": nil, "TERM": "xterm"]
    return try ChildProcess(
      URL(filePath: "/bin/sh"), ["-c", "exec \"$0\" \"$@\" 2>&1"] + command,
      environment: environment.merging(clean) { given, _ in given }, output: .terminal(columns: 90))
  }

  @Test(arguments: [nil, "1"])
  func `in a terminal, a bar shows the progress, and is erased`(noColor: String?) async throws {
    let isShown = Latch()
    let server = try ScriptedServer([.readRequest, .wait(for: isShown), .send(RawResponse(503, body: "{}")), .close])
    let photo = try Photo()
    let child = try startInTerminal(
      ["post-photo", photo.path, "--endpoint", server.url.absoluteString], environment: ["NO_COLOR": noColor])
    // The whole request, which is a little more than the file.
    try await child.waitForOutput(containing: "100%  2.9 MiB of 2.9 MiB")
    isShown.open()
    let result = try await child.waitForEnd()
    let pieces = result.outputText.components(separatedBy: "\r\u{1B}[K")
    #expect(pieces.count >= 3, "\(pieces)")
    #expect(pieces.first == "", "\(pieces)")
    let bar = noColor == nil ? "早安 1.jpg  \u{1B}[36m█" : "早安 1.jpg  █"
    #expect(pieces.contains { $0.hasPrefix(bar) && $0.contains("100%  2.9 MiB of 2.9 MiB") }, "\(pieces)")
    #expect(pieces.last?.contains("█") == false)
    #expect(pieces.last?.contains("503") == true)
    #expect(noColor == nil || !result.outputText.contains("\u{1B}[3"))
  }

  @Test func `in a terminal, nothing is left of the bar where the new moment is shown`() async throws {
    let server = try await BFFServer.start()
    let photo = try Photo()
    let arguments = ["post-photo", photo.path, "--endpoint", server.graphqlURL.absoluteString]
    let result = try await startInTerminal(arguments).waitForEnd()
    #expect(result.ending == .exited(0))
    let shown = result.outputText.components(separatedBy: "\r\u{1B}[K").last
    #expect(shown?.contains("█") == false)
    #expect(shown?.contains("just now") == false)
    for (more, environment) in [([], ["TERM": "dumb"]), (["--json"], [:]), (["--verbose"], [:])] {
      let plain = try await startInTerminal(arguments + more, environment: environment).waitForEnd()
      #expect(plain.ending == .exited(0))
      #expect(!plain.outputText.contains("█"))
    }
  }

  @Test(arguments: [(401, Int32(77)), (413, 65), (503, 69)])
  func `a server that refuses before it has read the file ends the run`(status: Int, code: Int32) async throws {
    let server = try ScriptedServer([.readHead, .send(RawResponse(status, body: "{}")), .waitForClientToClose])
    let photo = try Photo()
    try await Moments.run(["post-photo", photo.path, "--endpoint", server.url.absoluteString])
      .expectFailure(code, "HTTP status", saying: "\(status)")
  }

  @Test func `a photo is not sent again after an outage`() async throws {
    let server = try ScriptedServer([.readRequest, .send(RawResponse(503, body: "{}")), .close])
    let photo = try Photo(size: 10)
    try await Moments.run(["post-photo", photo.path, "--endpoint", server.url.absoluteString])
      .expectFailure(69, "HTTP status")
    #expect(server.requests.count == 1)
  }

  @Test(arguments: ["/nowhere/at/all.jpg", "/tmp", "/dev/null"])
  func `what is no file is wrong usage, and nothing is sent`(path: String) async throws {
    try await Moments.run(["post-photo", path]).expectFailure(64, "wrong usage", saying: path)
  }
}
