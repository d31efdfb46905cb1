import Foundation
import Networking
import StrictJSON
import TestSupport
import Testing

/// The command as a program of its own.
enum Moments {
  /// Starts it.
  static func start(
    _ arguments: [String], environment: [String: String?] = [:], output: ChildProcess.OutputKind = .pipe
  ) throws -> ChildProcess {
    try ChildProcess(
      RepositoryLayout.executable("moments"), arguments, environment: environment.merging(clean) { given, _ in given },
      output: output)
  }

  /// Runs it to its end.
  static func run(
    _ arguments: [String], environment: [String: String?] = [:], output: ChildProcess.OutputKind = .pipe
  ) async throws -> ChildProcess.State {
    try await start(arguments, environment: environment, output: output).waitForEnd()
  }

  private static let clean: [String: String?] = ["COLUMNS": nil, "NO_COLOR": nil, "TERM": "xterm"]
}

extension ChildProcess.State {
  /// Checks that the command failed with a code, one error line of a kind, and no result.
  func expectFailure(
    _ code: Int32, _ kind: String, saying words: String = "", sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(ending == .exited(code), sourceLocation: sourceLocation)
    #expect(outputText == "", sourceLocation: sourceLocation)
    let lines = errorText.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 2, sourceLocation: sourceLocation)
    #expect(lines.last == "", sourceLocation: sourceLocation)
    #expect(errorText.hasPrefix("moments: \(kind): "), sourceLocation: sourceLocation)
    #expect(words.isEmpty || errorText.contains(words), sourceLocation: sourceLocation)
  }

  /// Checks that the command succeeded and said nothing besides its result.
  func expectSuccess(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(ending == .exited(0), sourceLocation: sourceLocation)
    #expect(errorText == "", sourceLocation: sourceLocation)
  }
}

extension JSONValue {
  /// Reads JSON.
  init(_ bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
  }

  /// The value as JSON with sorted keys, and without members that are null, so that equal bytes mean equal values.
  func canonical() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(withoutNulls), as: UTF8.self)
  }

  private var withoutNulls: JSONValue {
    switch self {
    case .array(let elements): .array(elements.map(\.withoutNulls))
    case .object(let members): .object(members.filter { $0.value != .null }.mapValues(\.withoutNulls))
    default: self
    }
  }
}

/// Answers of servers to the query for a timeline.
enum TimelineJSON {
  /// The timeline alone.
  static let details = """
    {"userDetails":{"id":"0","name":"Lin","avatar":"https://a.example/0","backgroundImage":"b"},\
    "moments":[{"id":"m0","userDetails":{"name":"王小明","avatar":"a"},"type":"PHOTOS","title":"早安 🌅",\
    "url":null,"photos":["https://a.example/1.jpg"],"createdDate":"1605521360","isLiked":true,\
    "likes":[{"id":"0","avatar":"a"}]}]}
    """

  /// The whole answer.
  static let plain = answer(details)

  /// The whole answer with another timeline in it.
  static func answer(_ details: String) -> String {
    #"{"data":{"getMomentsDetailsByUserID":\#(details)}}"#
  }
}

extension String {
  /// The text's bytes, with others in the place of a part of it: they may be no text.
  func bytes(replacing part: String, with bytes: [UInt8]) -> [UInt8] {
    let pieces = components(separatedBy: part).map { [UInt8]($0.utf8) }
    return [UInt8](pieces.joined(separator: bytes))
  }
}

/// A user of the command: a folder of one's own, and a server that comes and goes, always at the same address, which
/// refuses connections when it is away.
final class Account: Sendable {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID().uuidString)")
  private let port: RefusingPort

  /// The options that all runs have.
  var options: [String] { ["--endpoint", "http://127.0.0.1:\(port.port)/graphql", "--cache-dir", folder.path] }

  private init() throws {
    port = try RefusingPort()
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// An account whose server is away.
  static func offline() throws -> Account { try Account() }

  /// Runs a closure while the server is there.
  func online<Result>(_ arguments: [String] = [], _ body: (BFFServer) async throws -> Result) async throws -> Result {
    let server = try await BFFServer.start(arguments: arguments)
    let relay = try CuttingRelay(to: server.port, at: port)
    defer { relay.close() }
    return try await body(server)
  }

  func run(_ arguments: String..., environment: [String: String?] = [:]) async throws -> ChildProcess.State {
    try await Moments.run(arguments + options, environment: environment)
  }

  func start(_ arguments: String...) throws -> ChildProcess { try Moments.start(arguments + options) }

  /// Whether the user likes a moment, as a timeline in JSON says.
  func isLiked(_ momentID: String, in result: ChildProcess.State) throws -> Bool? {
    guard case .array(let moments)? = try JSONValue(result.output)["moments"] else { return nil }
    return moments.first { $0["id"] == .string(momentID) }.map { $0["isLiked"] == true }
  }

  /// Takes the lock of the timelines' folder, which closing the descriptor gives back.
  func lockCache() throws -> Int32 {
    let timelines = folder.appendingPathComponent("timelines")
    let partition = try #require(try FileManager.default.contentsOfDirectory(atPath: timelines.path).first)
    let lock = open(timelines.appendingPathComponent("\(partition)/lock").path, O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    return lock
  }

  /// All that is in the folder's files.
  func everythingKept() throws -> String {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    return paths.compactMap { path in
      FileManager.default.contents(atPath: folder.appendingPathComponent(path).path).map {
        String(decoding: $0, as: UTF8.self)
      }
    }.joined()
  }
}
