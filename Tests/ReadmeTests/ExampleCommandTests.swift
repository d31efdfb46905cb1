import Foundation
import TestSupport
import Testing

/// The commands in the READMEs of the examples and integrations. All of them run as they stand, by `Scripts/example-commands`, after
/// `.ci/run` has built the packages, or at the end of `Scripts/test --long`; here, their programs and files are there, and those
/// that are cheap run, too.
@Suite("The commands of the examples")
struct ExampleCommandTests {
  private static let folders: [URL] = {
    ["Examples", "Integrations"].flatMap { name in
      let folder = RepositoryLayout.root.appending(path: name)
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      return names.sorted().map { folder.appending(path: $0) }.filter { isFile($0.appending(path: "Package.swift")) }
    }
  }()

  private static func isFile(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

  private static func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  /// The lines of a README's blocks for the shell, and of those that are indented, without comments.
  private static func commands(of folder: URL) throws -> [String] {
    let readme = try text(folder.appending(path: "README.md"))
    let blocks = readme.matches(of: /(?ms)^```sh\n(.*?)^```/).flatMap { $0.1.split(separator: "\n") }
    let indented = readme.replacing(/(?ms)^```.*?^```/, with: "").matches(of: /(?m)^ {4}(\S.*)$/).map(\.1)
    return (blocks + indented).map { $0.replacing(/(^|\s)#.*$/, with: "").trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  @Test func `each example has a README with commands`() throws {
    #expect(Self.folders.count > 10)
    for folder in Self.folders { #expect(try !Self.commands(of: folder).isEmpty, "\(folder.lastPathComponent)") }
  }

  @Test func `each command names a package, a program and files that are there`() throws {
    // The commands of this one are those of a copy.
    for folder in Self.folders where folder.lastPathComponent != "Starter" {
      for command in try Self.commands(of: folder) {
        let problem = try Self.problem(with: command, in: folder)
        #expect(problem == nil, "\(folder.lastPathComponent): \(command)")
      }
    }
  }

  @Test func `each command is run by something, or there is a reason that it is not`() async throws {
    let end = try await ChildProcess.run(Self.script, ["--list"])
    #expect(end.exitCode == 0, "\(end)")
    #expect(end.outputText.split(separator: "\n").count > 50)
    let checks = try Self.text(RepositoryLayout.root.appending(path: ".ci/run"))
    #expect(checks.contains(#"Scripts/example-commands "$package" .build-examples"#))
    // What nothing runs; of all others, the file that does is named.
    let left = end.outputText.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
      .filter { $0.count != 3 || !Self.isFile(RepositoryLayout.root.appending(path: $0[2])) }
    #expect(
      left.map { $0.prefix(2).joined(separator: ": ") } == [
        "Examples/Issues: RECORD_CASSETTES=1 swift test",
        "Examples/Starter: docker run --env ENDPOINT=https://depot.example/graphql starter list",
      ])
  }

  private static let script = RepositoryLayout.root.appending(path: "Scripts/example-commands")

  @Test(arguments: [
    ("    ./good\n", nil), ("```sh\n./good   # Comments are none.\n```\n", nil),
    ("    ./good\n    ./bad\n    ./good\n", "Examples/One: it has ended with 3:\n./good\n./bad\n"),
    ("    ./good > new\n", "Examples/One: its commands have changed new"),
    ("Also `./measure all`.\n", "Examples/One: `./measure all` is run by nothing: make it a block of its own"),
  ]) func `a command that fails, changes a file or is run by nothing is found`(
    readme: String, problem: String?
  ) async throws {
    try await inFolder { folder in
      let files = ["README.md": readme, "good": "#!/bin/sh\n", "bad": "#!/bin/sh\nexit 3\n"]
      let script = try Self.copyScript(to: folder, package: "Examples/One", files: files)
      let end = try await ChildProcess.run(script, ["Examples/One", folder.appending(path: "build").path])
      #expect(end.exitCode == (problem == nil ? 0 : 1), "\(end)")
      #expect(problem.map { end.errorText.contains("example-commands: \($0)") } != false, "\(end)")
    }
  }

  @Test func `what measures is run where all of that is, and fails as it does`() async throws {
    try await inFolder { folder in
      let files = [
        "README.md": "`Examples/TimelineServer/measure` compares.\n\n    ./good\n", "good": "#!/bin/sh\n",
        "measure": "#!/bin/sh\nexit 3\n", "../../Scripts/test": "Scripts/example-commands --long\n",
      ]
      let script = try Self.copyScript(to: folder, package: "Examples/TimelineServer", files: files)
      let short = try await ChildProcess.run(script, ["Examples/TimelineServer", folder.appending(path: "build").path])
      #expect(short.exitCode == 0, "\(short)")
      let long = try await ChildProcess.run(script, ["--long"])
      #expect(long.exitCode == 1, "\(long)")
      let failure = "example-commands: Examples/TimelineServer: it has ended with 3:\nExamples/TimelineServer/measure\n"
      #expect(long.errorText.contains(failure), "\(long)")
      #expect(!long.errorText.contains("./good"), "\(long)")
    }
  }

  /// Copies the script into a folder that has one package, whose files are executable.
  private static func copyScript(to folder: URL, package: String, files: [String: String]) throws -> URL {
    let (scripts, package) = (folder.appending(path: "Scripts"), folder.appending(path: package))
    for folder in [scripts, package] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    let script = scripts.appending(path: "example-commands")
    try FileManager.default.copyItem(at: Self.script, to: script)
    for (name, text) in files.merging(["Package.swift": ""], uniquingKeysWith: { text, _ in text }) {
      let file = package.appending(path: name)
      try text.write(to: file, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }
    return script
  }

  @Test func `what is wrong with a command is found`() throws {
    let server = RepositoryLayout.root.appending(path: "Examples/TimelineServer")
    for (command, problem) in [
      "swift run": "two programs, and none is named", "swift run TimelineServers": "no program TimelineServers",
      "swift test --package-path Examples/None": "no package Examples/None", "./started": "no file ./started",
      "Scripts/none a": "no file Scripts/none", "make": "no known command",
    ] { #expect(try Self.problem(with: command, in: server) == problem) }
    for command in ["swift run TimelineServer --help", "X=1 ./measure &", "swift build -c release && ./measure a"] {
      #expect(try Self.problem(with: command, in: server) == nil)
    }
  }

  @Test func `the steps of OtherSchema lead from a schema to a session`() async throws {
    let example = RepositoryLayout.root.appending(path: "Examples/OtherSchema")
    try await inFolder { folder in
      try FileManager.default.copyItem(at: example.appending(path: "Sources"), to: folder.appending(path: "Sources"))
      let schema = "schema.graphql"
      try FileManager.default.copyItem(at: example.appending(path: schema), to: folder.appending(path: schema))
      let readme = try Self.text(example.appending(path: "README.md"))
      let operation = String(try #require(readme.firstMatch(of: /(?ms)^```graphql\n(.*?)^```/)).1)
      let operations = folder.appending(path: "Operations")
      try FileManager.default.createDirectory(at: operations, withIntermediateDirectories: true)
      try operation.write(to: operations.appending(path: "CheapestBooks.graphql"), atomically: true, encoding: .utf8)
      // `swift run` builds first, which the tests have done.
      let graphql = try RepositoryLayout.executable("graphql").path
      let server = try await BFFServer.shared()
      let commands = try Self.commands(of: example).filter { $0.contains(" graphql ") }.map {
        $0.replacing("swift run --package-path ../.. graphql", with: "'\(graphql)'")
          .replacing("https://books.example/graphql", with: server.graphqlURL.absoluteString)
      }
      #expect(commands.count == 3)
      let end = try await Self.shell(commands, in: folder)
      #expect(end.exitCode == 0, "\(end)")
      for file in ["yours.graphql", "Sources/Networking/CheapestBooks.graphql.swift"] {
        #expect(Self.isFile(folder.appending(path: file)), "\(file)")
      }
    }
  }

  @Test func `the image of Starter is linked as the small static program is`() throws {
    func options(in path: String) throws -> Set<String> {
      let text = try Self.text(RepositoryLayout.root.appending(path: path))
      return Set(text.matches(of: /(?:-Xswiftc|-Xlinker) [\w\-=]+|--static-swift-stdlib/).map { String($0.0) })
    }
    let image = try options(in: "Examples/Starter/Dockerfile")
    // The script compiles one program without SwiftPM, which has this option by itself.
    #expect(try options(in: "Scripts/static").subtracting(["-Xlinker --gc-sections"]) == image)
  }

  @Test(arguments: ["moments", "graphql"])
  func `completions and man pages are installed by the commands that the README of a command shows`(
    name: String
  ) async throws {
    let sources = RepositoryLayout.root.appending(path: "Sources/\(name)")
    let commands = try Self.commands(of: sources).drop { !$0.hasPrefix("Scripts/completions") }
    #expect(commands.count == 5)
    try await inFolder { folder in
      let programs = folder.appending(path: ".build/debug")
      try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        at: programs.appending(path: name), withDestinationURL: RepositoryLayout.executable(name))
      try FileManager.default.createSymbolicLink(
        at: folder.appending(path: "Scripts"), withDestinationURL: RepositoryLayout.root.appending(path: "Scripts"))
      let end = try await Self.shell(Array(commands), in: folder)
      #expect(end.exitCode == 0, "\(end)")
      for file in [
        ".local/share/bash-completion/completions/\(name)", ".zsh/completions/_\(name)",
        ".config/fish/completions/\(name).fish", ".local/share/man/man1/\(name).1",
      ] { #expect(Self.isFile(folder.appending(path: file)), "\(file)") }
    }
  }

  /// Runs commands by a shell in a folder, which is also the home folder, up to the first that fails.
  private static func shell(_ commands: [String], in folder: URL) async throws -> ChildProcess.State {
    let script = (["set -e", "cd '\(folder.path)'"] + commands).joined(separator: "\n")
    return try await ChildProcess.run(
      URL(filePath: "/bin/sh"), ["-c", script], environment: ["HOME": folder.path])
  }

  private func inFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "commands-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  /// What is wrong with a command that stands in the README of a folder.
  private static func problem(with command: String, in folder: URL) throws -> String? {
    for part in command.split(separator: "&&") {
      let isSetting = /[A-Z_]+=.*/
      var words = part.split(separator: " ").filter { $0 != "&" }.map(String.init)
      if words.first == "export" || words.first == "mkdir" { continue }
      while let word = words.first, word.wholeMatch(of: isSetting) != nil { words.removeFirst() }
      guard let program = words.first else { continue }
      if program == "swift" {
        if let problem = try problem(withSwift: Array(words.dropFirst()), in: folder) { return problem }
      } else if program.hasPrefix("./") || program.hasPrefix("Scripts/") {
        guard isExecutable(program, in: folder) else { return "no file \(program)" }
      } else if program == ".venv/bin/python" {
        guard words.count > 1, isFile(RepositoryLayout.root.appending(path: words[1])) else { return "no file" }
      } else if program == "protoc" {
        guard words.count > 1, isFile(folder.appending(path: words[1])) else { return "no file" }
      } else {
        return "no known command"
      }
    }
    return nil
  }

  private static func isExecutable(_ path: String, in folder: URL) -> Bool {
    let base = path.hasPrefix("./") ? folder : RepositoryLayout.root
    return FileManager.default.isExecutableFile(atPath: base.appending(path: path).path)
  }

  private static func problem(withSwift words: [String], in folder: URL) throws -> String? {
    var (words, folder) = (words, folder)
    let verb = words.isEmpty ? "" : words.removeFirst()
    if let option = words.firstIndex(of: "--package-path"), option + 1 < words.count {
      let path = words[option + 1]
      let base = path.hasPrefix(".") ? folder : RepositoryLayout.root
      folder = base.appending(path: path).standardizedFileURL
      guard isFile(folder.appending(path: "Package.swift")) else { return "no package \(path)" }
      words.removeSubrange(option...option + 1)
    }
    guard ["build", "test", "run", "package"].contains(verb) else { return "no command swift \(verb)" }
    guard verb == "run" else { return nil }
    let manifest = try text(folder.appending(path: "Package.swift"))
    let programs = manifest.matches(of: /\.executableTarget\(\s*name: "([^"]+)"/).map { String($0.1) }
    guard let name = words.first(where: { !$0.hasPrefix("-") }) else {
      return programs.count == 1 ? nil : "two programs, and none is named"
    }
    return programs.contains(name) ? nil : "no program \(name)"
  }
}
