import CommandLineBase
import Testing

@Suite struct ArgumentScannerTests {
  private enum Option: String, CommandOption {
    case help, quiet, name, header

    var takesValue: Bool { self == .name || self == .header }
    var isRepeatable: Bool { self != .name }
  }

  private typealias Scanner = ArgumentScanner<Option>

  private func tokens(_ arguments: [String]) throws(UsageError) -> [Scanner.Token] {
    var scanner = Scanner(arguments, of: "tool")
    var tokens: [Scanner.Token] = []
    while let token = try scanner.next() { tokens.append(token) }
    return tokens
  }

  @Test func `values follow in the next argument, or after an equals sign, and may be empty there`() throws {
    #expect(try tokens(["--name", "a"]) == [.option(.name, value: "a")])
    #expect(try tokens(["--name=a=b"]) == [.option(.name, value: "a=b")])
    #expect(try tokens(["--name="]) == [.option(.name, value: "")])
    #expect(try tokens(["--name=--quiet"]) == [.option(.name, value: "--quiet")])
  }

  @Test func `options and arguments come in any order, and behind two dashes there are no options`() throws {
    let tokens = try tokens(["a", "--quiet", "-", "-h", "--", "--quiet", "--"])
    #expect(
      tokens == [
        .positional("a"), .option(.quiet, value: ""), .positional("-"), .option(.help, value: ""),
        .positional("--quiet"), .positional("--"),
      ])
  }

  @Test func `what is repeatable may be given again`() throws {
    #expect(try tokens(["--header", "a", "--quiet", "--header=b", "--quiet"]).count == 4)
  }

  @Test(arguments: [
    (["--nane=secret"], "there is no option '--nane'; 'tool --help' lists them"),
    (["-nsecret"], "there is no option '-n'; 'tool --help' lists them"),
    (["--name"], "--name has no value; write --name=VALUE"),
    (["--name", "--quiet"], "--name has no value; write --name=VALUE"),
    (["--name", "a", "--name=b"], "--name is given twice; give it once"),
    (["--quiet=secret"], "--quiet takes no value; write --quiet alone"),
  ])
  func `what is wrong is said, with what to do, and without values`(arguments: [String], message: String) throws {
    let error = #expect(throws: UsageError.self) { try tokens(arguments) }
    #expect(error?.message == message)
  }
}
