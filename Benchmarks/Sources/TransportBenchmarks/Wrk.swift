import Foundation

/// What wrk gets: a client in C with the system's OpenSSL, which does nothing but send the same request again.
struct Wrk {
  /// Requests per second.
  let rate: Double
  /// Microseconds of processor time per request.
  let processor: Double

  /// Sends requests for a second; `nil` without wrk. No other child process may end meanwhile.
  static func measure(_ url: String, _ size: Int, _ width: Int) throws -> Wrk? {
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
    let begin = processorTimeOfChildren()
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let time = processorTimeOfChildren() - begin
    let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
    guard let count = lines.first(where: { $0.dropFirst().first == "requests" })?.first.flatMap({ Double($0) }),
      let rate = lines.first(where: { $0.first == "Requests/sec:" })?.last.flatMap({ Double($0) })
    else { return nil }
    return Wrk(rate: rate, processor: time / count * 1e6)
  }
}

/// The seconds of processor time that children have used that have ended.
func processorTimeOfChildren() -> Double {
  var usage = rusage()
  getrusage(RUSAGE_CHILDREN.rawValue, &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}
