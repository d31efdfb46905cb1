import Foundation

/// This program, started again with other arguments.
package struct OwnProcess {
  package let process: Process
  package let output: FileHandle
  // Closes with this process, so that a child that waits for its end exits.
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

  /// The result that another process measured and printed.
  package static func measure<Result: Decodable>(_ arguments: [String]) throws -> Result {
    let client = try OwnProcess(arguments)
    let output = client.output.readDataToEndOfFile()
    client.process.waitUntilExit()
    return try JSONDecoder().decode(Result.self, from: output)
  }

  /// The ports that a server in another process has printed.
  package static func server(_ arguments: [String]) throws -> (OwnProcess, ports: [Int]) {
    let server = try OwnProcess(arguments)
    let line = String(decoding: server.output.availableData, as: UTF8.self)
    return (server, line.split { " \n".contains($0) }.compactMap { Int($0) })
  }
}
