import Foundation

/// This program, started once more with other arguments.
package struct OwnProcess {
  package let process: Process
  package let output: FileHandle
  // Ends with this process, and with it what waits for it.
  private let input: Pipe

  package init(_ arguments: [String]) throws {
    process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = arguments
    let output = Pipe()
    input = Pipe()
    process.standardOutput = output
    process.standardInput = input
    try process.run()
    self.output = output.fileHandleForReading
  }

  /// What was measured in a process of its own, which prints it.
  package static func measure<Result: Decodable>(_ arguments: [String]) throws -> Result {
    let client = try OwnProcess(arguments)
    let output = client.output.readDataToEndOfFile()
    client.process.waitUntilExit()
    return try JSONDecoder().decode(Result.self, from: output)
  }

  /// The ports of a server that runs in a process of its own, which prints them.
  package static func server(_ arguments: [String]) throws -> (OwnProcess, ports: [Int]) {
    let server = try OwnProcess(arguments)
    let line = String(decoding: server.output.availableData, as: UTF8.self)
    return (server, line.split { " \n".contains($0) }.compactMap { Int($0) })
  }
}
