import ArgumentParser
import Foundation
import GitHubIssues
import GraphQLClient
import GraphQLClientTesting
import GraphQLGeneration
import GraphQLSchema
import GraphQLTesting
import HTTPClientCore
import Stores
import StrictJSON
import Synchronization
import Testing

@testable import issues

/// A command's output.
final class Printed: Sendable {
  private let text = Mutex("")

  var output: Output { Output(print: { line in self.text.withLock { $0 += line + "\n" } }, progress: nil) }
  var value: String { text.withLock { $0 } }
}

/// Runs a command line on a transport, and returns what it prints.
func output(
  of arguments: [String], on transport: some HTTPTransport,
  token: String? = APIOptions.environmentToken ?? "made-up-token"
) async throws -> String {
  let printed = Printed()
  let command = try #require(try Issues.parseAsRoot(arguments) as? any APICommand)
  try await command.run(on: command.api.client(transport: transport, token: token), token: token, to: printed.output)
  return printed.value
}

let folder = URL(filePath: #filePath).deletingLastPathComponent()

func schema() throws -> Schema {
  try Schema(parsing: String(contentsOf: folder.appending(path: "../../schema.graphql"), encoding: .utf8))
}

/// A server with so many issues, numbered from the last one down.
private func server(issues count: Int) throws -> TestServer {
  let server = TestServer(schema: try schema(), samples: ["URI": ["https://github.example/issues/1"]])
  try server.resolve("Repository.issues") { request in
    let start = request.arguments["after"]?.stringValue.flatMap { Int($0) } ?? 0
    let end = min(start + Int(request.arguments["first"]?.integerValue ?? 0), count)
    let numbers = (start..<end).map { JSONValue.integer(Int64(count - $0)) }
    return [
      "totalCount": .integer(Int64(count)), "nodes": .array(numbers.map { ["id": $0, "number": $0] }),
      "pageInfo": ["hasNextPage": .bool(end < count), "endCursor": .string("\(end)")],
    ]
  }
  return server
}

@Suite struct SessionTests {
  @Test func `the sessions agree with GitHub's schema`() throws {
    let check = SessionCheck(try schema(), samples: ["URI": ["https://github.example/issues/1"]])
    let list = ListIssuesSession.Session(
      owner: "swiftlang", name: "swift", states: .some([.open]), labels: .some(["bug"]), first: 100, after: "x")
    #expect(check.findings(in: ListIssuesSession.Session.self, variables: [list.variables]) == [])
    let show = ShowIssueSession.Session(owner: "swiftlang", name: "swift", number: 1)
    #expect(check.findings(in: ShowIssueSession.Session.self, variables: [show.variables]) == [])
    let search = SearchIssuesSession.Session(query: "is:open", first: 20)
    #expect(check.findings(in: SearchIssuesSession.Session.self, variables: [search.variables]) == [])
    let reactions = [true, false].map { SetReactionSession.Session(issue: "1", content: .heart, isGiven: $0).variables }
    #expect(check.findings(in: SetReactionSession.Session.self, variables: reactions) == [])
  }

  @Test func `the generated files are up to date`() throws {
    let sources = folder.appending(path: "../../Sources/GitHubIssues")
    func source(_ name: String) throws -> GenerationSource {
      GenerationSource(name: name, bytes: Array(try Data(contentsOf: sources.appending(path: name))))
    }
    let configuration = try ConfigurationFile(source("graphql.json"))
    let names = ["IssueFields", "ListIssues", "SearchIssues", "SetReaction", "ShowIssue"]
      .map { "Operations/\($0).graphql" }
    let code = try Generator(configuration.generation)
      .generate(schema: [source("../../schema.graphql")], documents: names.map(source))
    for file in code.files {
      let text = try? String(contentsOf: sources.appending(path: "Generated/\(file.name)"), encoding: .utf8)
      #expect(text == file.text, "\(file.name) is not: run 'swift package generate-graphql'")
    }
  }

  @Test func `what the cache knows of the schema is what the schema's text says`() throws {
    var text = try RecordSchema(
      String(contentsOf: folder.appending(path: "../../schema.graphql"), encoding: .utf8))
    text.pageConnections()
    let generated = RecordSchema.gitHub
    // Of the fields it has those that the operations use.
    #expect(text.fieldTypes.merging(generated.fieldTypes) { $0.merging($1) { _, type in type } } == text.fieldTypes)
    text.fieldTypes = generated.fieldTypes
    #expect(generated == text)
  }

  @Test func `a list is fetched page by page, with its progress, up to the limit`() async throws {
    let server = try server(issues: 250)
    let client = try APIClient(baseURL: #require(URL(string: "https://api.example/graphql")), transport: server)
    let repository = try #require(RepositoryName("swiftlang/swift"))
    var progress: [[Int]] = []
    let all = try await client.issues(in: repository, limit: 1000) { progress.append([$0, $1]) }
    #expect(all.map(\.number) == Array((1...250).reversed()))
    #expect(progress == [[100, 250], [200, 250], [250, 250]])
    #expect(try await client.issues(in: repository, limit: 3).map(\.number) == [250, 249, 248])
    #expect(server.requests.count == 4)
  }
}

@Suite struct CommandTests {
  @Test func `a list is replayed from its cassette, as text and as JSON`() async throws {
    try await withCassette("list") { transport in
      let text = try await output(of: ["list", "octo-org/tea-shop", "--state", "open", "--limit", "3"], on: transport)
      #expect(text == Self.text)
    }
    try await withCassette("list") { transport in
      let json = try await output(
        of: ["list", "octo-org/tea-shop", "--state", "open", "--limit", "3", "--json"], on: transport)
      #expect(try JSONValue(json: json).arrayValue?.compactMap { $0["number"] } == [12, 11, 9])
    }
  }

  @Test func `an issue that is not there is an error of the server`() async throws {
    try await withCassette("none") { transport in
      let error = await #expect(throws: RequestError.self) {
        try await output(of: ["show", "octo-org/tea-shop", "404"], on: transport)
      }
      #expect(error?.graphQLErrors.map(\.message) == ["Could not resolve to an Issue with the number of 404."])
    }
  }

  @Test func `an issue as JSON has all that its text shows`() async throws {
    let server = try server(issues: 1)
    try server.resolve("Issue.bodyText") { _ in "It is empty." }
    let json = try JSONValue(json: try await output(of: ["show", "a/b", "1", "--json"], on: server))
    #expect(json["text"] == "It is empty.")
    #expect(json["url"] == "https://github.example/issues/1")
    #expect(json["title"] != nil)
  }

  @Test func `a refused token, and a missing one, are errors that name GITHUB_TOKEN`() async throws {
    for (token, reason) in [("expired-token", "refused the token in GITHUB_TOKEN"), (nil, "set GITHUB_TOKEN to it")] {
      let transport = ScriptedTransport()
      transport.expect(.any, .json(#"{"message": "Bad credentials"}"#, status: 401))
      let error = await #expect(throws: TokenRefusal.self) {
        try await output(of: ["list", "a/b"], on: transport, token: token)
      }
      #expect(error?.description.contains(reason) == true)
      #expect((transport.requests.first?.headers["Authorization"] == nil) == (token == nil))
    }
  }

  @Test(arguments: ["foo", "ftp://github.example", "https://", ""])
  func `an endpoint that is no URL of http is a wrong argument`(_ endpoint: String) throws {
    let options = try APIOptions.parse(["swiftlang/swift", "--endpoint", endpoint])
    let error = #expect(throws: (any Error).self) { try options.client() }
    #expect(Issues.exitCode(for: try #require(error)) == .validationFailure)
  }

  @Test func `an empty token is none`() {
    #expect(APIOptions.token(in: ["GITHUB_TOKEN": ""]) == nil)
    #expect(APIOptions.token(in: ["GITHUB_TOKEN": "t"]) == "t")
  }

  @Test func `an issue is read back from a cache on disk`() throws {
    let fields = IssueFields(
      id: "I_1", number: 1, title: "Tea", state: .known(.open), createdAt: Date(timeIntervalSince1970: 1_700_000_000.5),
      author: .init(login: "wei"), labels: .init(nodes: [.init(name: "bug")]), comments: .init(totalCount: 2),
      issueReactions: .init())
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: directory) }
    let issue = GitHubIssues.Issue(fields, url: "https://github.example/issues/1", text: "It is empty.")
    let cache = try DiskCache<Int, GitHubIssues.Issue>(folder: directory)
    try cache.write(StoredValue(issue, writtenAt: .now()), for: 1)
    #expect(try cache.read(1)?.value == issue)
  }

  @Test(arguments: [
    (["list", "swift"], "'swift' is not OWNER/NAME."), (["list", "a/b", "--limit", "0"], "--limit is at least 1."),
    (["list", "a/b", "--state", "done"], "'done' is invalid"),
    (["show", "a/b"], "Missing expected argument '<number>'"),
  ]) func `wrong usage is refused with what is wrong`(arguments: [String], message: String) {
    let error = #expect(throws: (any Error).self) { try Issues.parseAsRoot(arguments) }
    #expect(error.map { Issues.fullMessage(for: $0).contains(message) } == true)
  }

  @Test(arguments: [
    (["list", "a/b", "--endpoint", "http://127.0.0.1:99999/"], "made-up", "not one of 1 to 65535"),
    (["list", "a/b", "--endpoint", "foo"], "made-up", "--endpoint 'foo' is no URL of http or https."),
    (["list", "a/b"], "two\nlines", "--endpoint or GITHUB_TOKEN: The value of the header 'Authorization' holds"),
    (["browse", "a/b", "--folder", "/dev/null"], "made-up", "--folder '/dev/null': "),
    (["react", "a/b", "1", "heart", "--folder", "/dev/null"], "made-up", "Name one that can be written."),
    (["browse", "a/b", "--folder", ""], "made-up", "--folder is the path of a folder."),
  ]) func `a wrong value is named, and the exit code is 64`(
    arguments: [String], token: String, message: String
  ) async throws {
    let error = await #expect(throws: (any Error).self) {
      try await output(of: arguments, on: .platform(), token: token)
    }
    #expect(error.map { Issues.message(for: $0).contains(message) } == true)
    #expect(error.map { Issues.exitCode(for: $0).rawValue } == 64)
  }

  @Test func `the README's commands are command lines of the tool`() throws {
    let readme = try String(contentsOf: folder.appending(path: "../../README.md"), encoding: .utf8)
    let lines = readme.matches(of: /(?m)^    swift run issues ([^>#\n]*)/).map {
      $0.1.split(separator: " ").map(String.init)
    }
    #expect(lines.count == 5)
    for line in lines {
      do {
        _ = try Issues.parseAsRoot(line)
      } catch {
        // A completion script ends parsing, too.
        #expect(Issues.exitCode(for: error) == .success, "\(line): \(Issues.message(for: error))")
      }
    }
  }

  @Test func `the README's code is in the sources, and a reaction takes less than 15 lines`() throws {
    let readme = try String(contentsOf: folder.appending(path: "../../README.md"), encoding: .utf8)
    let files = ["Sources/GitHubIssues/Reaction", "Sources/GitHubIssues/IssueStore", "Tests/IssuesTests/IssuesTests"]
    let sources = try files.map {
      try String(contentsOf: folder.appending(path: "../../\($0).swift"), encoding: .utf8).unindented
    }.joined()
    let blocks = readme.matches(of: /(?ms)^```swift\n(.*?)^```/).map { String($0.1) }
    #expect(blocks.count == 2)
    for part in blocks.flatMap({ $0.components(separatedBy: "\n\n") }) {
      #expect(sources.contains(part.unindented), "\(part)")
    }
    #expect(blocks.first.map { $0.unindented.split(separator: "\n").count < 15 } == true)
  }

  @Test(arguments: [CompletionShell.bash, .zsh, .fish])
  func `completion scripts know the commands and their options`(shell: CompletionShell) {
    let script = Issues.completionScript(for: shell)
    for word in ["list", "show", "browse", "react", "label", "closed", "thumbs-up"] {
      #expect(script.contains(word), "\(word)")
    }
  }

  @Test func `text of others cannot control the terminal`() {
    let fields = IssueFields(
      id: "I_1", number: 1, title: "\u{1B}[2J", state: .known(.open), createdAt: .now,
      comments: .init(totalCount: 0), issueReactions: .init())
    #expect(GitHubIssues.Issue(fields).line == "#1  \\u{1B}[2J  ghost, 0 comments")
  }

  @Test(arguments: [
    (0, 0, "##############################"), (1, 3, "##########--------------------"),
    (3, 3, "##############################"),
  ]) func `the progress bar fills`(count: Int, total: Int, bar: String) {
    #expect(ProgressBar.line(count, of: total) == "[\(bar)] \(count) of \(total)")
  }

  private static let text = """
    #12  Oolong is missing  [bug, tea]  wei, 2 comments, 3 thumbs-up (yours, too)
    #11  Add a dark theme  ghost, 0 comments
    #9  Prices in yen  [idea]  tea-bot, 41 comments, 1 heart, 5 thumbs-up

    """
}

extension String {
  /// The lines that are not empty, without their indentation.
  fileprivate var unindented: String {
    split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
  }
}

/// Runs with the exchanges of a cassette. With RECORD_CASSETTES in the environment, it records them from GitHub instead,
/// with the token in GITHUB_TOKEN; then change the names of the repositories to some that exist.
private func withCassette(_ name: String, _ run: (any HTTPTransport) async throws -> Void) async throws {
  let file = folder.appending(path: "Cassettes/\(name).json")
  guard ProcessInfo.processInfo.environment["RECORD_CASSETTES"] != nil else {
    let transport = try ReplayingTransport(contentsOf: file)
    try await run(transport)
    #expect(transport.failures == [])
    return
  }
  let recorder = RecordingTransport(.platform(), to: file)
  try await run(recorder)
  try recorder.finish()
}
