import Foundation
import TestSupport
import Testing

/// A command that a document shows, and the form of it that the tests run.
private struct DocumentedCommand: Sendable {
  /// How the tests run it.
  enum Form: Sendable {
    /// As it stands; `swift run` builds first, which the tests have done.
    case asItStands
    /// With these arguments instead, since it would take minutes.
    case with([String], exitCode: Int32 = 0)
    /// Not here, but by this line of `.ci/run`.
    case inChecks(String)
  }

  let text: String
  let form: Form
  /// What it prints, among other text, to its standard output or error.
  var prints = ""

  private static let configuration = RepositoryLayout.root.path + "/Tests/GeneratedMoments/graphql.json"

  /// Every command of the README. A new one belongs here.
  static let all = [
    DocumentedCommand(text: "swift run moments", form: .asItStands, prints: "Lin Wei"),
    DocumentedCommand(text: "moments watch", form: .with(["watch", "--count", "1"]), prints: "Lin Wei"),
    DocumentedCommand(text: "Scripts/test", form: .with(["--help"]), prints: "Runs the tests"),
    DocumentedCommand(text: "Scripts/test", form: .inChecks(#"step "tests" Scripts/test"#)),
    DocumentedCommand(
      text: "Scripts/bench client", form: .with([], exitCode: 64), prints: "usage: Scripts/bench streams|json|"),
    DocumentedCommand(text: "Scripts/bench client", form: .inChecks("Benchmarks/Package.swift")),
    DocumentedCommand(text: "Scripts/bench json", form: .inChecks("Benchmarks/Package.swift")),
    DocumentedCommand(text: "Scripts/docs", form: .inChecks(#"step "documentation" Scripts/docs"#)),
    DocumentedCommand(
      text: "graphql generate",
      form: .with(["generate", "--check", "--config", configuration]),
      prints: "files up to date"),
  ]

  /// The program, and the arguments that the document shows.
  func program() throws -> (URL, [String]) {
    var words = text.split(separator: " ").map(String.init)
    if words.starts(with: ["swift", "run"]) { words.removeFirst(2) }
    let name = words.removeFirst()
    let program =
      try name.hasPrefix("Scripts/")
      ? RepositoryLayout.root.appending(path: name) : RepositoryLayout.executable(name)
    return (program, words)
  }
}

@Suite("The README's commands")
struct CommandTests {
  @Test func `every command is in the list of those that are run, and the list has no other`() throws {
    let readme = try String(contentsOf: RepositoryLayout.root.appending(path: "README.md"), encoding: .utf8)
    let shown = Set(Self.commands(in: readme))
    let listed = Set(DocumentedCommand.all.map(\.text))
    #expect(shown.subtracting(listed).isEmpty, "say in DocumentedCommand.all how the tests run these")
    #expect(listed.subtracting(shown).isEmpty, "the README has these no longer")
  }

  @Test(arguments: DocumentedCommand.all.indices)
  func `each command runs, and prints what it should`(index: Int) async throws {
    let command = DocumentedCommand.all[index]
    if case .inChecks(let line) = command.form {
      let checks = try String(contentsOf: RepositoryLayout.root.appending(path: ".ci/run"), encoding: .utf8)
      #expect(checks.contains(line))
      return
    }
    var (program, arguments) = try command.program()
    var exitCode: Int32 = 0
    if case .with(let others, let code) = command.form { (arguments, exitCode) = (others, code) }
    let end = try await ChildProcess.run(program, arguments)
    #expect(end.exitCode == exitCode, "\(end)")
    #expect((end.outputText + end.errorText).contains(command.prints), "\(end)")
  }

  @Test func `each benchmark that Scripts/bench names is a program of Benchmarks, and is named by its README`()
    async throws
  {
    let usage = try await ChildProcess.run(RepositoryLayout.root.appending(path: "Scripts/bench")).errorText
    let names = try #require(usage.split(separator: " ").first { $0.contains("|") })
    let folder = RepositoryLayout.root.appending(path: "Benchmarks")
    let manifest = try String(contentsOf: folder.appending(path: "Package.swift"), encoding: .utf8).lowercased()
    for name in names.split(separator: "|") { #expect(manifest.contains("\"\(name)benchmarks\"")) }
    let readme = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
    #expect(readme.contains("Scripts/bench \(names)"))
  }

  @Test func `a command is a line in a block for the shell, or inline code that begins like one`() {
    let text = """
      Run `Scripts/soak`, `moments watch` or `swift build --quiet`, not `moments` or `swift format`.
      ```sh
      swift run graphql --help   # what it does

      # a comment
      export NAME=value
      ```
      ```swift
      let command = "swift run moments"
      ```
      """
    #expect(
      Self.commands(in: text)
        == ["swift run graphql --help", "export NAME=value", "Scripts/soak", "moments watch", "swift build --quiet"])
  }

  /// The commands that a Markdown text shows.
  private static func commands(in text: String) -> [String] {
    let blocks = text.matches(of: /(?ms)^```sh\n(.*?)^```/).flatMap { $0.1.split(separator: "\n") }
      .map { $0.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    let prose = text.replacing(/(?ms)^```.*?^```/, with: "")
    let inline = prose.matches(of: /`((?:Scripts\/|(?:swift (?:run|build|test)|moments|graphql) )[^`]*)`/)
      .map { $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    return blocks + inline
  }
}
