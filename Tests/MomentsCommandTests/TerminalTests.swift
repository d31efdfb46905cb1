import CommandLineBase
import Foundation
import Testing
@testable import moments

struct TerminalTests {
  @Test(arguments: [
    (120, "40", 120), (nil, "40", 40), (0, "40", 40), (nil, "0", 80), (nil, "-3", 80), (nil, "wide", 80),
    (nil, nil, 80),
  ])
  func `the width is what the terminal says, else COLUMNS, else 80`(reported: Int?, variable: String?, expected: Int) {
    let environment = variable.map { ["COLUMNS": $0] } ?? [:]
    let terminal = Terminal(isTerminal: true, reportedColumns: reported, environment: environment)
    #expect(terminal.columns == expected)
  }

  @Test(arguments: [
    (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
    (true, ["TERM": "dumb"], false), (true, ["TERM": "xterm"], true),
  ])
  func `colours are for terminals that want them`(isTerminal: Bool, environment: [String: String], isColored: Bool) {
    let terminal = Terminal(isTerminal: isTerminal, reportedColumns: nil, environment: environment)
    #expect(terminal.style == Style(isColored: isColored))
  }

  @Test func `a file is no terminal`() throws {
    let file = try #require(fopen("/dev/null", "w"))
    defer { fclose(file) }
    let terminal = Terminal(descriptor: fileno(file), environment: ["COLUMNS": "33"])
    #expect(terminal == Terminal(isTerminal: false, reportedColumns: nil, environment: ["COLUMNS": "33"]))
  }
}
