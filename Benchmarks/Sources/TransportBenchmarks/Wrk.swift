import Foundation

/// The most that the server can do, measured with wrk if it is installed.
enum Wrk {
  /// Requests per second; `nil` without wrk.
  static func rate(_ url: String, _ size: Int, _ width: Int) throws -> Double? {
    let path = "/usr/bin/wrk"
    guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
    let script = FileManager.default.temporaryDirectory.appending(path: "post-\(getpid()).lua")
    defer { try? FileManager.default.removeItem(at: script) }
    try Data("wrk.method = 'POST'\nwrk.body = string.rep(' ', \(size))\n".utf8).write(to: script)
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = ["-t1", "-c\(width)", "-d1", "-s", script.path(), url]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let line = text.split(separator: "\n").first { $0.hasPrefix("Requests/sec:") }
    return line?.split(separator: " ").last.flatMap { Double($0) }
  }
}
