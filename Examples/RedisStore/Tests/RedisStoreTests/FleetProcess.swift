import Foundation
import Synchronization

/// One process of a fleet, and the lines that it has written.
final class FleetProcess: Sendable {
  struct TimedOut: Error, CustomStringConvertible {
    let description: String
  }

  struct Line: Sendable {
    let microseconds: Int
    let text: String
  }

  private let process: Process
  private let input = Pipe()
  private let received: Mutex<[Line]> = Mutex([])

  init(_ arguments: [String]) throws {
    process = Process()
    let output = Pipe()
    process.executableURL = Self.executable("fleet")
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    Thread.detachNewThread { [weak self] in
      var rest = Data()
      while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
        rest += data
        while let end = rest.firstIndex(of: 10) {
          let parts = String(decoding: rest[..<end], as: UTF8.self).split(separator: " ", maxSplits: 1)
          rest = Data(rest[rest.index(after: end)...])
          guard parts.count == 2 else { continue }
          self?.received.withLock { $0.append(Line(microseconds: Int(parts[0]) ?? 0, text: String(parts[1]))) }
        }
      }
    }
  }

  deinit { kill() }

  func kill() {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
  }

  func send(_ line: String) { input.fileHandleForWriting.write(Data("\(line)\n".utf8)) }

  var lines: [Line] { received.withLock { $0 } }

  /// Waits for a line.
  @discardableResult
  func wait(seconds: Double = 10, for condition: @Sendable (String) -> Bool) async throws -> Line {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while Date() < deadline {
      if let line = lines.first(where: { condition($0.text) }) { return line }
      try await Task.sleep(for: .milliseconds(2))
    }
    throw TimedOut(description: "the process has written only \(lines.map(\.text))")
  }

  /// What one that ends by itself ends with, and what it says of that.
  static func end(of program: String = "fleet", with arguments: [String]) throws -> (status: Int32, message: String) {
    let (process, errors) = (Process(), Pipe())
    process.executableURL = executable(program)
    process.arguments = arguments
    process.standardError = errors
    try process.run()
    let message = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, message)
  }

  private static func executable(_ name: String) -> URL {
    // Beside the tests' own product.
    let products = Bundle.allBundles.map(\.bundleURL.path) + CommandLine.arguments
    let folder = products.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
    return (folder ?? Bundle.main.bundleURL).appendingPathComponent(name)
  }
}
