import Foundation
import HTTPClientCore
import SocketHTTP
import Streams
import StrictJSON
import Testing

/// A program in a process of its own, which ends with this object.
final class Program: Sendable {
  private let process = Process()
  private let input = Pipe()
  private let lines: AsyncStream<String>

  init(_ executable: URL, _ arguments: [String]) throws {
    let output = Pipe()
    process.executableURL = executable
    process.arguments = arguments
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    self.lines = lines
    Thread.detachNewThread {
      var rest = Data()
      while case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
        rest += piece
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
          rest = Data(rest[(end + 1)...])
        }
      }
      continuation.finish()
    }
    try process.run()
  }

  deinit {
    // It may not have started.
    if process.isRunning { process.terminate() }
  }

  /// Ends it at once.
  func kill() {
    guard process.isRunning else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Waits until it ends by itself, with this status.
  func end(_ status: Int32 = 0) async throws {
    for await _ in lines {}
    process.waitUntilExit()
    #expect(process.terminationStatus == status)
  }

  /// Writes a line to its input.
  func write(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

  /// The next line of its output that fits.
  func line(where fits: (String) -> Bool = { _ in true }) async throws -> String {
    var seen: [String] = []
    for await line in lines {
      if fits(line) { return line }
      seen.append(line)
    }
    throw EndedEarly(output: seen)
  }

  struct EndedEarly: Error { let output: [String] }
}

/// The GraphQL server of the repository's tests, `Tests/BFF/server.py`.
struct Origin {
  let port: Int
  private let program: Program
  private var lessons = 0

  /// Starts it; a process that asks it directly teaches it the hash of the fleet's query, unless that is to be unknown.
  init(knowsHash: Bool = true) async throws {
    let root = URL(filePath: #filePath).appending(path: "../../../../..").standardizedFileURL
    // `Scripts/virtualenv .venv Tests/BFF/requirements.txt` makes the environment, as `Scripts/test` does.
    program = try Program(
      root.appending(path: ".venv/bin/python"),
      [root.appending(path: "Tests/BFF/server.py").path, "--port", "0", "--latency-ms", "300", "--exit-on-stdin-eof"])
    let line = try await program.line { $0.hasPrefix("{\"port\":") }
    port = try #require(JSONDecoder().decode([String: Int].self, from: Data(line.utf8))["port"])
    guard knowsHash else { return }
    let teacher = try await Fleet(1, askers: 1, account: "teacher", at: "http://127.0.0.1:\(port)/graphql")
    _ = try await teacher.ask()
    lessons = try await executions
  }

  /// How many requests have reached it, which it may not have answered yet.
  var requests: Int { get async throws { try await stats.requests["/graphql"] ?? 0 } }

  /// How often it has executed the query, but for its teacher.
  var executions: Int { get async throws { try await (stats.operations["getUser"] ?? 0) - lessons } }

  func stop() { program.kill() }

  private struct Stats: Decodable {
    let operations: [String: Int]
    let requests: [String: Int]
  }

  private var stats: Stats {
    get async throws {
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/__stats"))
      let request = try HTTPRequest(method: .get, url: url)
      let response = try await SocketTransport().send(request).collect(upTo: 1 << 16).value
      return try JSONCoder().decode(Stats.self, from: response.body)
    }
  }
}

/// nginx with the configuration of this example, in front of an origin.
struct Nginx {
  let url: String
  private let program: Program
  private let folder: Folder

  /// The executable; `nil` where nginx is not installed.
  static let executable = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/bin/nginx", "/opt/homebrew/bin/nginx"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }.map { URL(filePath: $0) }

  /// Starts it by the command of the README as it stands, in a copy of the example that belongs to `user`.
  init(before origin: Origin, as user: String? = nil) async throws {
    folder = try Folder()
    let example = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    let copy = folder.url.appending(path: "NginxCache")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    for name in ["start", "nginx.conf.template"] {
      try FileManager.default.copyItem(at: example.appending(path: name), to: copy.appending(path: name))
    }
    let readme = try String(contentsOf: example.appending(path: "README.md"), encoding: .utf8)
    var command = String(
      try #require(readme.split(separator: "```sh\n").dropFirst().first?.split(separator: "```").first))
    let port = try freePort()
    for (old, new) in ["127.0.0.1:4000": "127.0.0.1:\(origin.port)", "8080": "\(port)"] {
      try #require(command.contains(old))
      command.replace(old, with: new)
    }
    // As root it would be in /var/cache, as another user in the home folder.
    var home = ["CACHE=\(folder.url.path)/new/cache"]
    if let user {
      home = ["HOME=\(folder.url.path)/home", "XDG_CACHE_HOME=", "CACHE="]
      try FileManager.default.createDirectory(
        at: folder.url.appending(path: "home"), withIntermediateDirectories: true)
      try await Program(URL(filePath: "/usr/bin/chown"), ["-R", user, folder.url.path]).end()
    }
    let arguments = home + ["PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin:/opt/homebrew/bin", "sh", "-c"]
    let shell = ["-c", "cd '\(copy.path)' && \(command)"]
    program =
      if let user {
        try Program(
          URL(filePath: "/usr/sbin/runuser"), ["-u", user, "--", "/usr/bin/env"] + arguments + shell.dropFirst())
      } else {
        try Program(URL(filePath: "/usr/bin/env"), arguments + shell.dropFirst())
      }
    // It listens before it starts its workers.
    _ = try await program.line { $0.contains("start worker process ") }
    url = "http://127.0.0.1:\(port)/graphql"
  }

  /// What it says of its cache for a query with this header field: `HIT`, `MISS` and so on.
  func mark(of name: String? = nil, _ value: String = "") async throws -> String? {
    var components = try #require(URLComponents(string: url))
    components.queryItems = [
      URLQueryItem(
        name: "query", value: "query getUser { getMomentsDetailsByUserID(userID: 0) { userDetails { name } } }")
    ]
    var headers: HTTPHeaders = ["Accept": "application/json", "X-Cache-Control": "max-age=60"]
    if let name { try headers.append(name, value) }
    let request = try HTTPRequest(method: .get, url: #require(components.url), headers: headers)
    let response = try await SocketTransport().send(request).collect(upTo: 1 << 16).value
    #expect(response.head.status == 200)
    return response.head.headers["X-Cache"]
  }

  /// The access that others than its owner have to the folder of the responses.
  var access: Int {
    get throws {
      let names = ["new/cache", "home/.cache/graphql"].map { folder.url.appending(path: $0).path }
      let path = try #require(names.first { FileManager.default.fileExists(atPath: $0) })
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      return (attributes[.posixPermissions] as? Int ?? 0o777) & 0o77
    }
  }
}

/// A folder that is removed with this object.
final class Folder: Sendable {
  let url = FileManager.default.temporaryDirectory.appending(path: "nginx-\(UUID().uuidString)")

  init() throws {
    // Another user's nginx has its own folder in it.
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}

/// A port that nobody listens on: nginx cannot be asked for one.
private func freePort() throws -> UInt16 {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(listener) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let status = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(listener, $0, length) | getsockname(listener, $0, &length)
    }
  }
  try #require(status == 0)
  return UInt16(bigEndian: address.sin_port)
}
