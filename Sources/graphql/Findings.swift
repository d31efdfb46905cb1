import GraphQLLanguage
import GraphQLSchema
import HTTP
import Platform

/// Something that is wrong in a file.
struct Finding: Encodable {
  let file: String
  let rule: String?
  let message: String
  let locations: [Place]
  let severity: SchemaProblem.Severity
  /// The line at the first place.
  private let line: String?

  struct Place: Encodable {
    let line: Int
    let column: Int

    init(_ location: SourceLocation) {
      line = location.line
      column = location.column
    }
  }

  private enum CodingKeys: CodingKey {
    case file, rule, message, locations
  }

  private init(
    _ input: Input, _ rule: String?, _ message: String, _ locations: [SourceLocation],
    _ severity: SchemaProblem.Severity = .error, lines: Lines
  ) {
    file = input.name
    self.rule = rule
    self.message = message
    self.locations = locations.map { Place($0) }
    self.severity = severity
    line = locations.first.flatMap { lines[$0.line] }
  }

  init(_ error: GraphQLSyntaxError, in input: Input) {
    self.init(input, "Syntax", error.message, [error.location], lines: Lines(input.text))
  }

  static func findings(_ errors: [ValidationError], in input: Input) -> [Finding] {
    guard !errors.isEmpty else { return [] }
    let lines = Lines(input.text)
    return errors.map { Finding(input, $0.rule?.rawValue, $0.message, $0.locations, lines: lines) }
  }

  static func findings(_ problems: [SchemaProblem], in input: Input) -> [Finding] {
    guard !problems.isEmpty else { return [] }
    let lines = Lines(input.text)
    return problems.map { Finding(input, $0.rule, $0.message, $0.locations, $0.severity, lines: lines) }
  }

  /// The lines of a text, ended as GraphQL has it.
  private struct Lines {
    private let lines: [Substring]

    init(_ text: String) {
      // "\r\n" is one character.
      lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
    }

    subscript(number: Int) -> String? { lines.indices.contains(number - 1) ? String(lines[number - 1]) : nil }
  }

  /// `FILE:LINE:COLUMN: error: MESSAGE [Rule]`, and the line with a caret below the place.
  func text(_ console: Console) -> String {
    let place = locations.first.map { "\(file):\($0.line):\($0.column)" } ?? file
    let kind = severity == .error ? console.paint("error:", .red) : console.paint("warning:", .yellow)
    let suffix = rule.map { " [\($0)]" } ?? ""
    let head = "\(console.paint(place + ":", .bold)) \(kind) \(message.sanitized(upTo: 2_000))\(suffix)\n"
    guard let first = locations.first, let line, line.utf8.count <= 400 else { return head }
    let units = Array(line.utf16)
    let before = String(decoding: units.prefix(first.column - 1), as: UTF16.self)
    let after = String(decoding: units.dropFirst(first.column - 1), as: UTF16.self)
    let number = "\(first.line)"
    let margin = String(repeating: " ", count: number.count)
    let indentation = before.map { $0 == "\t" ? "\t" : " " }.joined()
    let length = max(1, after.prefix { $0.isLetter || $0.isNumber || $0 == "_" }.count)
    let caret = "^" + String(repeating: "~", count: length - 1)
    let shown = line.replacing("\t", with: " ").sanitized()
    return head
      + "\(number) | \(shown)\n\(margin) | \(indentation.replacing("\t", with: " "))\(console.paint(caret, .green))\n"
  }
}

extension GraphQLCommand {
  /// Prints findings, for people or as JSON.
  func report(_ findings: [Finding]) {
    if arguments.flags.contains(.json) {
      printJSON(findings)
    } else {
      console.write(findings.map { $0.text(console) }.joined())
    }
  }

  func printJSON(_ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    console.write(String(decoding: data, as: UTF8.self) + "\n")
  }
}
