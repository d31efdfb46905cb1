import Foundation

/// A real `redis-server` on a port of its own, without a disk.
final class RedisServerProcess {
  struct Missing: Error, CustomStringConvertible {
    let description = "redis-server is missing (on Debian: apt-get install redis-server)"
  }

  let port: Int
  private let process = Process()

  /// Starts the server, and returns when it accepts connections.
  init(port: Int = .random(in: 20_000..<30_000)) throws {
    self.port = port
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
      "--enable-debug-command", "yes",
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    for _ in 0..<200 {
      if (try? command("PING")) == "PONG" { return }
      if !process.isRunning { break }
      Thread.sleep(forTimeInterval: 0.02)
    }
    process.terminate()
    throw Missing()
  }

  deinit { stop() }

  func stop() {
    guard process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// What `redis-cli` prints.
  @discardableResult
  func command(_ words: String...) throws -> String {
    let (client, output) = (Process(), Pipe())
    client.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    client.arguments = ["redis-cli", "-p", "\(port)"] + words
    client.standardOutput = output
    client.standardError = FileHandle.nullDevice
    try client.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    client.waitUntilExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
