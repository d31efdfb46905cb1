import Foundation

/// Another library, in a program of its own: `PROGRAM decode|encode FILE COUNT` prints the nanoseconds of processor
/// time for reading or writing once, or nothing if it cannot do that.
struct Peer {
  let name: String
  let program: URL
  let folder: URL

  /// The programs in a folder; empty if there is no such folder.
  static func all(in folder: URL) -> [Peer] {
    let programs = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    return programs.filter { FileManager.default.isExecutableFile(atPath: $0.path()) && !$0.hasDirectoryPath }
      .sorted { $0.path() < $1.path() }
      .map { Peer(name: $0.lastPathComponent, program: $0, folder: folder) }
  }

  func measure(_ work: String, _ payload: Payload, _ count: Int) throws -> Double? {
    let file = folder.appending(path: "payload-\(payload.data.count).json")
    if !FileManager.default.fileExists(atPath: file.path()) { try payload.data.write(to: file) }
    let process = Process()
    process.executableURL = program
    process.arguments = [work, file.path(), "\(count)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
  }
}
