import Foundation

/// What wrk gets: a client in C with the system's OpenSSL, which does nothing but send the same request again.
struct Wrk {
  /// Requests per second.
  let rate: Double
  /// Microseconds of processor time per request.
  let processor: Double

  /// Sends requests for a second; `nil` without wrk. No other child process may end meanwhile.
  static func measure(_ url: String, _ size: Int, _ width: Int) throws -> Wrk? {
    let script = Data("wrk.method = 'POST'\nwrk.body = string.rep(' ', \(size))\n".utf8)
    let result = try withTemporaryFile(script) { file in
      try output(of: "/usr/bin/wrk", ["-t1", "-c\(width)", "-d1", "-s", file, url])
    }
    guard let (text, time) = result else { return nil }
    let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
    guard let count = lines.first(where: { $0.dropFirst().first == "requests" })?.first.flatMap({ Double($0) }),
      let rate = lines.first(where: { $0.first == "Requests/sec:" })?.last.flatMap({ Double($0) })
    else { return nil }
    return Wrk(rate: rate, processor: time / count * 1e6)
  }
}

/// What h2load gets: a client in C with nghttp2 and the system's OpenSSL, on one connection.
struct H2Load {
  /// Requests per second.
  let rate: Double
  /// Microseconds of processor time per request.
  let processor: Double

  /// Sends requests for a second; `nil` without h2load. No other child process may end meanwhile.
  static func measure(_ url: String, _ size: Int, _ width: Int) throws -> H2Load? {
    let result = try withTemporaryFile(Data(count: size)) { file in
      try output(of: "/usr/bin/h2load", ["-t1", "-c1", "-m\(width)", "-D1", "-w24", "-W24", "-d", file, url])
    }
    guard let (text, time) = result else { return nil }
    let words = text.split { " ,\n".contains($0) }
    // `finished in 1.00s, 61234.00 req/s, …`, and `requests: 61234 total, …`.
    func number(_ offset: Int, from word: String) -> Double? {
      words.firstIndex { $0 == word }.flatMap { Double(words[$0 + offset]) }
    }
    guard let rate = number(-1, from: "req/s"), let count = number(-1, from: "succeeded"), count > 0 else { return nil }
    return H2Load(rate: rate, processor: time / count * 1e6)
  }
}

extension [H2Load] {
  /// The one with the median of the rates.
  var median: H2Load? { sorted { $0.rate < $1.rate }.dropFirst(count / 2).first }
}

extension H2Load {
  /// Prints a line of a table.
  func print(_ title: String) {
    Swift.print("| \(title) | h2load | \(Int(rate)) | | | \(processor.formatted(1)) | |")
  }
}

private func withTemporaryFile<Result>(_ content: Data, _ body: (_ path: String) throws -> Result) throws -> Result {
  let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try content.write(to: file)
  defer { try? FileManager.default.removeItem(at: file) }
  return try body(file.path())
}

/// What a program writes, and its seconds of processor time; `nil` if it is not installed.
private func output(of path: String, _ arguments: [String]) throws -> (text: String, time: Double)? {
  guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
  let process = Process()
  process.executableURL = URL(filePath: path)
  process.arguments = arguments
  let output = Pipe()
  process.standardOutput = output
  let begin = processorTimeOfChildren()
  try process.run()
  let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  return (text, processorTimeOfChildren() - begin)
}

/// The seconds of processor time that children have used that have ended.
private func processorTimeOfChildren() -> Double {
  var usage = rusage()
  getrusage(RUSAGE_CHILDREN.rawValue, &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}
