import Foundation
import JSON
import Networking
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
    #expect(lines.count == 2 && lines.last == "", sourceLocation: sourceLocation)
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
