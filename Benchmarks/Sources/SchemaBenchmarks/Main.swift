import Foundation
import GraphQLLanguage
import GraphQLSchema
import GraphQLTesting
import Measuring
import Networking

/// Measures the language, the rules of validation and the contract check, beside graphql-core.
///
///     SchemaBenchmarks BIG-SCHEMA MOMENTS-SCHEMA [ROUNDS]
///
/// The environment variable GRAPHQL_CORE names a Python interpreter that has graphql-core, and its program, separated by
/// a colon. The first file is what `Scripts/big-schema` prints.
@main
struct Main {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 2 else { throw Usage() }
    let inputs = try Inputs(big: arguments[1], moments: arguments[2])
    let rounds = arguments.count > 3 ? max(1, Int(arguments[3]) ?? 5) : 5
    print("| work | µs | graphql-core | floor |")
    print("|---|---|---|---|")
    var misses: [String] = []
    for row in try Row.all(inputs) {
      let time = try row.time(rounds: rounds)
      let ratio = try row.peer.flatMap { try Peer.measure($0, inputs) }.map { "\(format($0 / time))x" } ?? ""
      print("| \(row.name) | \(format(time / 1000)) | \(ratio) | \(format(row.floor / 1000)) |")
      fflush(nil)
      if time > row.floor {
        misses.append("\(row.name): \(format(time / 1000)) µs, the floor is \(format(row.floor / 1000))")
      }
    }
    for miss in misses { print("\nmissed: \(miss)") }
    exit(misses.isEmpty ? 0 : 1)
  }

  private static func format(_ value: Double) -> String {
    value >= 100 ? "\(Int(value.rounded()))" : "\((value * 10).rounded() / 10)"
  }
}

struct Usage: Error, CustomStringConvertible {
  var description: String { "usage: SchemaBenchmarks BIG-SCHEMA MOMENTS-SCHEMA [ROUNDS]" }
}

/// What is measured with.
struct Inputs {
  let bigFile: String
  let big: String
  let moments: String
  let momentsFile: String

  init(big: String, moments: String) throws {
    (bigFile, momentsFile) = (big, moments)
    self.big = try String(contentsOfFile: big, encoding: .utf8)
    self.moments = try String(contentsOfFile: moments, encoding: .utf8)
  }

  /// 300 bytes, for the schema of Moments.
  static let operation = """
    query moments($userID: ID!, $first: Int = 20, $after: String, $isLong: Boolean! = false) {
      momentsConnection(userID: $userID, first: $first, after: $after) {
        edges { cursor node { ...fields likes @include(if: $isLong) { id } } }
        pageInfo { hasNextPage endCursor }
      }
    }
    fragment fields on Moment { id title photos }
    """

  /// 20,000 equal fields in one selection.
  static let equalFields = "query equal { __typename " + String(repeating: "__typename ", count: 20_000) + "}"
}

/// One line of the table.
struct Row {
  let name: String
  /// How often the work is done in a round.
  let count: Int
  /// The nanoseconds that it may take.
  let floor: Double
  /// What graphql-core does: the work, and the text, which is the big schema if there is none.
  var peer: (work: String, text: String?)?
  let work: () throws -> Int

  static func all(_ inputs: Inputs) throws -> [Row] {
    let megabytes = Double(inputs.big.utf8.count) / 1_200_000
    let big = try DocumentSyntax(parsing: inputs.big)
    let moments = try Schema(parsing: inputs.moments)
    let operation = try DocumentSyntax(parsing: Inputs.operation)
    let equal = try DocumentSyntax(parsing: Inputs.equalFields)
    let check = SessionCheck(moments)
    let session = GetMomentsByUserIDSession.Session(userID: "1")
    return [
      Row(name: "parse a schema of 1.3 MB", count: 20, floor: 8e6 * megabytes, peer: ("parse", nil)) {
        try DocumentSyntax(parsing: inputs.big).nodeCount
      },
      Row(name: "print it", count: 5, floor: 40e6 * megabytes, peer: ("print", nil)) { big.printed().utf8.count },
      Row(name: "parse, build and check it", count: 5, floor: 25e6 * megabytes) {
        try Schema(parsing: inputs.big).problems.count + 1
      },
      Row(name: "build and check it", count: 5, floor: 25e6 * megabytes, peer: ("schema", nil)) {
        Schema(big).problems.count + 1
      },
      Row(name: "parse an operation of 340 bytes", count: 20_000, floor: 3e3, peer: ("parse", Inputs.operation)) {
        try DocumentSyntax(parsing: Inputs.operation).nodeCount
      },
      Row(name: "validate it by all rules", count: 2000, floor: 30e3, peer: ("validate", Inputs.operation)) {
        moments.validate(operation).count + 1
      },
      Row(name: "validate 20,000 equal fields", count: 3, floor: 20e6) { moments.validate(equal).count + 1 },
      Row(name: "check a session of Moments", count: 100, floor: 1e6) {
        check.findings(in: GetMomentsByUserIDSession.Session.self, variables: [session.variables]).count + 1
      },
    ]
  }

  /// The median of some rounds, after one to warm up, in nanoseconds.
  func time(rounds: Int) throws -> Double {
    var times: [Double] = []
    for round in 0...rounds {
      let start = processorNanoseconds()
      var sum = 0
      for _ in 0..<count { sum += try work() }
      let time = (processorNanoseconds() - start) / Double(count)
      if sum == 0 { throw NothingCame(of: name) }
      if round > 0 { times.append(time) }
    }
    return times.sorted()[times.count / 2]
  }

  struct NothingCame: Error {
    let work: String
    init(of work: String) { self.work = work }
  }
}

/// graphql-core, in a process of its own.
enum Peer {
  /// The nanoseconds that it takes; `nil` if there is none.
  static func measure(_ peer: (work: String, text: String?), _ inputs: Inputs) throws -> Double? {
    let parts = ProcessInfo.processInfo.environment["GRAPHQL_CORE"]?.split(separator: ":").map(String.init) ?? []
    guard parts.count == 2 else { return nil }
    var file = inputs.bigFile
    if let text = peer.text {
      file = FileManager.default.temporaryDirectory.appending(path: "operation-\(getpid()).graphql").path()
      try text.write(toFile: file, atomically: true, encoding: .utf8)
    }
    defer { if peer.text != nil { try? FileManager.default.removeItem(atPath: file) } }
    let process = Process()
    process.executableURL = URL(filePath: parts[0])
    process.arguments = [parts[1], peer.work, file, peer.text == nil ? "2" : "200", inputs.momentsFile]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
