import Foundation
import Repository

/// Uses a disk cache or an outbox in a process of its own, for tests that kill it, or let several share a folder.
@main
struct DiskWriter {
  static func main() throws {
    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "operations", let first = Int(arguments[3]) {
      try performOperations(in: arguments[2], from: first)
    }
    if arguments.count == 4, arguments[1] == "submit", let first = Int(arguments[3]) {
      try submitNumbers(in: arguments[2], from: first)
    }
    if arguments.count == 5, arguments[1] == "share", let seconds = Double(arguments[3]),
      let seed = UInt64(arguments[4])
    {
      var folder = try SharedFolder(arguments[2], seed: seed)
      return try folder.use(for: seconds)
    }
    print("usage: DiskWriter operations FOLDER FIRST | submit FOLDER FIRST | share FOLDER SECONDS SEED")
    exit(64)
  }

  /// Performs one operation after the other until it is killed, and writes the number of each that is done.
  private static func performOperations(in folder: String, from first: Int) throws -> Never {
    let cache = try DiskCache<String, String>(folder: URL(fileURLWithPath: folder))
    var number = first
    while true {
      try Operation(number).perform(on: cache)
      FileHandle.standardOutput.write(Data("\(number)\n".utf8))
      number += 1
    }
  }
}
