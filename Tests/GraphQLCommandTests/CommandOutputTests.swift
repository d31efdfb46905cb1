import Foundation
import StrictJSON
import TestSupport
import Testing

/// Where results are written, and how.
@Suite struct CommandOutputTests {
  private let folder: WorkFolder
  private let schema: String
  private let document: String

  init() throws {
    folder = try WorkFolder()
    schema = try folder.file("schema.graphql", "type Query { a: Int }")
    document = try folder.file("a.graphql", "query a{a}")
  }

  /// One run of each command that writes something.
  private func commands(_ endpoint: String) throws -> [[String]] {
    let bad = try folder.file("bad.graphql", "{ b }")
    let broken = try folder.file("broken.graphql", "type Query {")
    let new = try folder.file("new.graphql", "type Query { b: Int }")
    return [
      ["--help"], ["--version"], ["validate", "--schema", schema, bad],
      ["validate", "--schema", schema, "--json", bad],
      ["format", "--check", bad], ["manifest", document], ["schema", "print", schema],
      ["schema", "print", "--json", schema], ["schema", "check", "--json", schema], ["schema", "check", broken],
      ["schema", "diff", schema, new], ["schema", "diff", "--json", schema, schema],
      ["schema", "download", "--endpoint", endpoint, "--output", "-"],
    ]
  }

  @Test(arguments: [">/dev/full", ">&-"])
  func `output that is not written is an error, whatever the command`(redirection: String) async throws {
    let server = try await BFFServer.start()
    for command in try commands(server.graphqlURL.absoluteString) {
      let result = try await folder.run(command, redirected: redirection)
      #expect(result.code == 74, "\(command): \(result.errors)")
      #expect(result.errors.contains("graphql: the output cannot be written: "))
    }
    let input = try await folder.run(["format", "-"], redirected: "<\(document) \(redirection)")
    #expect(input.code == 74)
  }

  @Test func `a reader that has gone is no error`() async throws {
    let pipe = try folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let script = "exec 3<>\(pipe) 4>\(pipe) 3<&-; exec \"$0\" schema print \(schema) >&4"
    let command = try RepositoryLayout.executable("graphql").path
    let end = try await ChildProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", script, command])
    #expect(end.ending == .exited(0))
    #expect(end.errorText.isEmpty)
  }

  @Test(arguments: [0o600, 0o640, 0o755, 0o444, 0o666])
  func `a file that is written keeps its mode`(mode: Int) async throws {
    let output = try folder.file("manifest.json", "old")
    for path in [output, document] { chmod(path, mode_t(mode)) }
    guard access(output, W_OK) == 0 else {
      // One that may only be read is left alone, if this user is not root.
      #expect(try await folder.run(["manifest", "--output", output, document]).code == 73)
      return #expect(try folder.text("manifest.json") == "old")
    }
    #expect(try await folder.run(["manifest", "--output", output, document]).code == 0)
    #expect(try await folder.run(["format", document]).code == 0)
    #expect(try folder.text("manifest.json").hasPrefix("{"))
    #expect(try folder.text("a.graphql") == "query a {\n  a\n}\n")
    for path in [output, document] {
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 3)
  }

  @Test func `a new file has the mode that the mask leaves`() async throws {
    let output = try folder.file("manifest.json")
    let script = "umask 027; exec \"$0\" \"$@\""
    let command = try RepositoryLayout.executable("graphql").path
    let end = try await ChildProcess.run(
      URL(fileURLWithPath: "/bin/sh"), ["-c", script, command, "manifest", "--output", output, document])
    #expect(end.ending == .exited(0))
    #expect(try FileManager.default.attributesOfItem(atPath: output)[.posixPermissions] as? Int == 0o640)
  }

  @Test func `links stay links, and other names of a file have its new contents`() async throws {
    let link = try folder.file("link.graphql")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a.graphql")
    let other = try folder.file("other.graphql")
    try FileManager.default.linkItem(atPath: document, toPath: other)
    #expect(try await folder.run(["format", link]).code == 0)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "a.graphql")
    for name in ["a.graphql", "other.graphql"] { #expect(try folder.text(name) == "query a {\n  a\n}\n") }
    let nowhere = try folder.file("nowhere.json")
    try FileManager.default.createSymbolicLink(atPath: nowhere, withDestinationPath: "target.json")
    #expect(try await folder.run(["manifest", "--output", nowhere, document]).code == 0)
    #expect(try folder.text("target.json").hasPrefix("{"))
  }

  @Test func `devices and pipes are written`() async throws {
    let pipe = try folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let script = "cat \(pipe) & \"$0\" manifest --output \(pipe) \(document) && wait"
    let command = try RepositoryLayout.executable("graphql").path
    let end = try await ChildProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", script, command])
    #expect(end.ending == .exited(0))
    #expect(end.outputText.hasPrefix("{"))
    let null = try device("null")
    #expect(try await folder.run(["manifest", "--output", null, document]).code == 0)
    #expect(try await folder.run(["manifest", "--output", "/dev/stdout", document]).output.hasPrefix("{"))
    var status = stat()
    #expect(stat(null, &status) == 0)
    #expect(status.st_mode & S_IFMT == S_IFCHR)
    #expect(stat(pipe, &status) == 0)
    #expect(status.st_mode & S_IFMT == S_IFIFO)
  }

  /// A link to a device: a program that replaces what it should write replaces the link alone.
  private func device(_ name: String) throws -> String {
    let link = try folder.file(name)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/\(name)")
    return link
  }

  @Test(arguments: [("full", 74), ("/nowhere/a", 73), ("/", 73), ("/dev/null/a", 73)])
  func `a file that cannot be written is an error`(path: String, code: Int) async throws {
    let path = path == "full" ? try device(path) : path
    let result = try await folder.run(["manifest", "--output", path, document])
    #expect(result.code == code)
    #expect(result.errors.hasPrefix("graphql: \(path): it cannot be written: "))
  }

  @Test func `colours are for the terminal that is written to, and not for a file with the other output`() async throws
  {
    let command = try RepositoryLayout.executable("graphql")
    let bad = try folder.file("bad.graphql", "query A { b }")
    let environment: [String: String?] = ["NO_COLOR": nil, "TERM": "xterm"]
    let generated = try await ChildProcess.run(
      command, ["generate", "--schema", schema, "--output", try folder.file("out"), bad], environment: environment,
      output: .terminal(columns: 80))
    #expect(generated.errorText.contains("bad.graphql:1:11: error: "))
    #expect(!generated.errorText.contains("\u{1B}"))
    let validated = try await ChildProcess.run(
      command, ["validate", "--schema", schema, bad], environment: environment, output: .terminal(columns: 80))
    #expect(validated.outputText.contains("\u{1B}[31merror:"))
  }

  @Test func `a name or an argument that is not UTF-8 is an error, and no file is left out`() async throws {
    let script = """
      mkdir "$1/app" && printf 'query A { a }' > "$1/app/$(printf 'a\\377.graphql')"
      "$0" validate --schema "$1/schema.graphql" "$1/app"; echo "$?"
      "$0" validate --schema "$1/schema.graphql" "$1/app/$(printf 'a\\377.graphql')"; echo "$?"
      """
    let command = try RepositoryLayout.executable("graphql").path
    let end = try await ChildProcess.run(URL(fileURLWithPath: "/bin/sh"), ["-c", script, command, folder.url.path])
    #expect(end.outputText == "66\n64\n")
    #expect(end.errorText.contains("/app/a\u{FFFD}.graphql: it cannot be read: "))
    #expect(end.errorText.hasSuffix("graphql: argument 4 is not valid UTF-8\n"))
  }

  @Test func `S5: JSON and findings hold nothing that controls a terminal`() async throws {
    let evil = "\u{202E}\u{9B}31m\u{7F}\u{2028}"
    let schema = try folder.file(
      "evil.graphql", "\"\"\"\(evil)\"\"\" type Query { a: Int @deprecated(reason: \"\(evil)\") }")
    let plain = try folder.file("plain.graphql", "type Query { a: Int }")
    let bad = try folder.file("b\u{9B}\u{202E}.graphql", "{ a(x: \"\(evil)\") }")
    let named = try folder.file("named.graphql", "query a { a(x: \"\(evil)\") }")
    for command in [
      ["schema", "print", "--json", schema], ["schema", "diff", "--json", plain, schema],
      ["schema", "diff", plain, schema],
      ["validate", "--schema", schema, bad], ["validate", "--schema", schema, "--json", bad],
      ["format", "--check", bad], ["manifest", named], ["manifest", "--format", "relay", named],
    ] {
      let result = try await folder.run(command)
      let scalars = (result.output + result.errors).unicodeScalars
      let controls = scalars.filter { $0 != "\n" && ($0.value < 0x20 || (0x7F..<0xA0).contains($0.value)) }
      #expect(controls.isEmpty, "\(command)")
      #expect(!scalars.contains("\u{202E}"), "\(command)")
      #expect(!scalars.contains("\u{2028}"), "\(command)")
      #expect(!scalars.isEmpty)
      if command.contains("--json") || command[0] == "manifest" { _ = try JSONValue(json: result.output) }
    }
    let json = try JSONValue(json: try await folder.run(["schema", "diff", "--json", plain, schema]).output)
    #expect(json.arrayValue?.contains { $0["message"]?.stringValue?.contains(evil) == true } == true)
  }
}
