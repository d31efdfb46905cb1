package import CommandLineBase
package import GraphQLLanguage
package import GraphQLSchema
import SystemBase

/// A place in a file.
package struct Place {
  package let input: Input
  package let location: SourceLocation

  package init(_ input: Input, _ location: SourceLocation) {
    (self.input, self.location) = (input, location)
  }

  /// `FILE:LINE`.
  var description: String { "\(input.name):\(location.line)" }
}

/// Something that is wrong in a file.
package struct Finding {
  package let rule: String?
  package let message: String
  /// The file that it is in, if it has no place.
  private let file: String
  private let places: [Place]
  package let severity: SchemaProblem.Severity

  package init(
    _ rule: String?, _ message: String, at places: [Place], in file: String? = nil,
    severity: SchemaProblem.Severity = .error
  ) {
    self.rule = rule
    self.message = message
    self.places = places
    self.file = places.first?.input.name ?? file ?? ""
    self.severity = severity
  }

  package init(_ problem: SchemaProblem, in input: Input) {
    self.init(
      problem.rule, problem.message, at: problem.locations.map { Place(input, $0) }, in: input.name,
      severity: problem.severity)
  }

  /// Two findings with one identity are the same.
  package struct Identity: Hashable {
    let rule: String?
    let message: String
    let file: String
    let places: [String]
  }

  package var identity: Identity {
    Identity(
      rule: rule, message: message, file: file, places: places.map { "\($0.input.name):\($0.location)" })
  }

  /// `FILE:LINE:COLUMN: error: MESSAGE [Rule]`, and the line with a caret below the place.
  package func text(_ style: Style, _ lines: inout LineCache) -> String {
    let place = places.first.map { "\($0.input.name):\($0.location)" } ?? file
    let kind = severity == .error ? style.paint("error:", .red) : style.paint("warning:", .yellow)
    let others = places.dropFirst().filter { $0.input.name != file }.map { ", \($0.description)" }.joined()
    let suffix = sanitized(others, upTo: 1_000) + (rule.map { " [\($0)]" } ?? "")
    let head =
      "\(style.paint(sanitized(place) + ":", .bold)) \(kind) \(sanitized(message, upTo: 2_000))\(suffix)\n"
    guard let first = places.first, let line = lines.line(of: first), line.utf8.count <= 400 else { return head }
    let column = first.location.column
    let units = Array(line.utf16)
    let before = String(decoding: units.prefix(column - 1), as: UTF16.self)
    let after = String(decoding: units.dropFirst(column - 1), as: UTF16.self)
    let number = "\(first.location.line)"
    let margin = String(repeating: " ", count: number.count)
    let indentation = String(repeating: " ", count: before.count)
    let length = max(1, after.prefix { $0.isLetter || $0.isNumber || $0 == "_" }.count)
    let caret = "^" + String(repeating: "~", count: length - 1)
    let shown = sanitized(line.replacing("\t", with: " "))
    return head + "\(number) | \(shown)\n\(margin) | \(indentation)\(style.paint(caret, .green))\n"
  }
}

extension Finding: Encodable {
  private enum CodingKeys: CodingKey {
    case file, rule, message, severity, locations
  }

  private struct Location: Encodable {
    /// If it is not the finding's own.
    let file: String?
    let line: Int
    let column: Int
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(file, forKey: .file)
    try container.encodeIfPresent(rule, forKey: .rule)
    try container.encode(message, forKey: .message)
    try container.encode(severity.rawValue, forKey: .severity)
    let locations = places.map { place in
      Location(
        file: place.input.name == file ? nil : place.input.name, line: place.location.line,
        column: place.location.column)
    }
    try container.encode(locations, forKey: .locations)
  }
}

/// The lines of files, ended as GraphQL has it.
package struct LineCache {
  private var lines: [String: [Substring]] = [:]

  package init() {}

  package mutating func line(of place: Place) -> String? {
    let lines = lines[place.input.name] ?? Self.lines(of: place.input)
    self.lines[place.input.name] = lines
    let index = place.location.line - 1
    return lines.indices.contains(index) ? String(lines[index]) : nil
  }

  private static func lines(of input: Input) -> [Substring] {
    // "\r\n" is one character.
    String(decoding: input.bytes, as: UTF8.self).split(omittingEmptySubsequences: false) {
      $0 == "\n" || $0 == "\r\n" || $0 == "\r"
    }
  }
}

extension Console {
  /// Prints findings beside the results.
  package func report(_ findings: [Finding]) {
    var lines = LineCache()
    for finding in findings { report(String(finding.text(messageStyle, &lines).dropLast())) }
  }
}
