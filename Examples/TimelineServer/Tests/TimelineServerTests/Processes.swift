import Foundation
import GraphQLClient
import HTTPClientCore
import SocketHTTP
import Streams
import StrictJSON
import Synchronization

@testable import TimelineServer

/// A program in a process of its own, whose lines of output can be waited for; it ends with this object, and with the
/// process that has started it, even one that is killed.
final class Program: Sendable {
  private let process = Process()
  private let output = ReplaySubject<String>.createUnbounded()
  private let hasEnded = ReplaySubject<Int32>.create(bufferSize: 1)
  /// Signalled at the end of the output: of the process, and of those that it has started.
  private let end = DispatchSemaphore(value: 0)

  init(_ executable: URL, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
    guard FileManager.default.isExecutableFile(atPath: executable.path) else {
      throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: executable.path])
    }
    process.executableURL = Self.shell
    process.arguments = Self.tied(executable, arguments)
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let (input, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
    process.terminationHandler = { [hasEnded] in hasEnded.onNext($0.terminationStatus) }
    let (lines, end) = (self.output, self.end)
    Thread.detachNewThread {
      var rest = Data()
      while case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
        rest += piece
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          lines.onNext(String(decoding: rest[..<end], as: UTF8.self))
          rest = Data(rest[(end + 1)...])
        }
      }
      lines.onCompleted()
      end.signal()
    }
    try process.run()
  }

  deinit { stop() }

  /// The arguments of a shell that becomes the program, which is killed at the end of its input: this process writes nothing
  /// to it, and closes it by its end.
  static func tied(_ executable: URL, _ arguments: [String]) -> [String] {
    // What waits has no other file open: Foundation takes a process for ended when all files that it gave it are closed. The
    // time of its start is compared, since another process may have the id by then.
    let script = """
      start() { sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20; }
      exec 3<&0
      {
        start=$(start)
        for file in /proc/$BASHPID/fd/*; do ((${file##*/} < 4)) || eval "exec ${file##*/}>&-"; done
        cat <&3
        [[ $(start) == "$start" ]] && kill -KILL $$
      } >/dev/null 2>&1 &
      exec "$0" "$@" 3<&-
      """
    return ["-c", script, executable.path] + arguments
  }

  static let shell = URL(filePath: "/bin/bash")

  /// Ends the process at once, also if it is paused, and waits until it has ended. Not by SIGTERM, since what a thread of
  /// Dispatch starts may have that blocked.
  func stop() {
    guard process.isRunning else { return }
    kill()
    _ = end.wait(timeout: .now() + 10)
    // Its output is closed a moment before it has ended.
    let limit = ContinuousClock.now + .seconds(10)
    while Self.isThere(id), .now < limit { sched_yield() }
  }

  /// Whether a process runs, or is paused.
  static func isThere(_ id: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return false }
    return !status.contains(") Z ") && !status.contains(") X ")
  }

  /// Starts a program of this folder, or of the repository, in Python.
  static func python(_ path: String, _ arguments: [String] = []) throws -> Program {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let root = tests.appending(path: "../../../..").standardizedFileURL
    // `Scripts/virtualenv .venv Tests/BFF/requirements.txt` makes it, as `Scripts/test` does.
    return try Program(root.appending(path: ".venv/bin/python"), [tests.appending(path: path).path] + arguments)
  }

  var id: Int32 { process.processIdentifier }

  /// The first line of the output that fits.
  func line(_ fits: @escaping @Sendable (String) -> Bool) async throws -> String {
    try await output.asObservable().filter(fits).timeout(.seconds(60), scheduler: ConcurrentScheduler()).value
  }

  /// Sends SIGTERM.
  func terminate() { process.terminate() }

  /// Sends SIGKILL.
  func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

  /// Stops the process where it is, without an end of its connections, until it is resumed.
  func pause() { Foundation.kill(process.processIdentifier, SIGSTOP) }

  /// Lets the process continue.
  func resume() { Foundation.kill(process.processIdentifier, SIGCONT) }

  /// The status with which the process ends.
  var status: Int32 {
    get async throws {
      try await hasEnded.asObservable().timeout(.seconds(30), scheduler: ConcurrentScheduler()).value
    }
  }
}

/// The GraphQL server of the repository's tests, `Tests/BFF/server.py`; it ends with this object.
struct BFF {
  let url: URL
  private let program: Program

  /// - Parameters:
  ///   - arguments: Such as `["--auth", "graphql"]`; see the README of `Tests/BFF`.
  ///   - port: The port; 0 for any.
  init(_ arguments: String..., port: Int = 0) async throws {
    program = try Program.python(
      "../../../../Tests/BFF/server.py", ["--port", "\(port)", "--exit-on-stdin-eof"] + arguments)
    let line = try await program.line { $0.hasPrefix("{\"port\":") }
    let port = try JSONCoder().decode([String: Int].self, from: Data(line.utf8))["port"]
    url = try HTTPRequest(method: .get, url: URL(string: "http://127.0.0.1:\(port ?? 0)/graphql") ?? URL(filePath: "/"))
      .url
  }

  /// Ends the server at once, with all its connections, and waits until it has ended.
  func kill() async throws {
    program.kill()
    _ = try await program.status
  }

  /// How often an operation was carried out, or a path requested: what the server counts.
  func count(of operation: String) async throws -> Int64 {
    let response = try await Browser(url.deletingLastPathComponent()).send(.get, "__stats")
    let stats = try JSONCoder().decode(JSONValue.self, from: response.body)
    return stats["operations"]?[operation]?.integerValue ?? 0
  }

  /// Restores the data, and revokes the tokens that it has given to users.
  func reset() async throws {
    _ = try await Browser(url.deletingLastPathComponent()).send(.post, "__reset")
  }
}

/// The program of this package, which serves the timelines of a BFF; both end with this object.
struct Server {
  let url: URL
  let program: Program
  private let bff: BFF

  init(_ bff: BFF, _ settings: [String: String] = [:]) async throws {
    self.bff = bff
    program = try Self.program(["BFF_URL": bff.url.absoluteString, "PORT": "0"].merging(settings) { $1 })
    let line = try await program.line { $0.contains("listening on port ") }
    let port = line.split(separator: " ").last ?? ""
    url = try HTTPRequest(method: .get, url: URL(string: "http://127.0.0.1:\(port)/") ?? bff.url).url
  }

  /// Starts the program.
  static func program(_ settings: [String: String]) throws -> Program {
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    return try Program(folder.appending(path: "TimelineServer"), environment: settings)
  }
}

/// What a browser does: requests with a cookie, and events.
struct Browser {
  private let url: URL
  private let transport = SocketTransport()
  private(set) var cookie: String?

  init(_ url: URL) { self.url = url }

  /// A browser whose user has signed in.
  init(_ server: Server, user: String) async throws {
    url = server.url
    let response = try await send(.post, "login?user=\(user)")
    cookie = response.head.headers["Set-Cookie"]?.split(separator: ";").first.map(String.init)
  }

  /// A browser in which the users of others have signed in, too.
  func with(_ other: Browser) -> Browser {
    var both = self
    both.cookie = [cookie, other.cookie].compactMap { $0 }.joined(separator: "; ")
    return both
  }

  func send(_ method: HTTPMethod, _ path: String) async throws -> HTTPResponse {
    try await transport.send(request(method, path)).collect(upTo: 1 << 20).value
  }

  /// The events at a path, as long as they come, but for figures, which come whenever the server does something.
  func events(_ path: String) throws -> Observable<ServerSentEvent> {
    transport.send(try request(.get, path)).events().filter { $0.type != "figures" }
  }

  /// What the server does, as long as a timeline's events come.
  func figures(_ path: String) throws -> Observable<Figures> {
    transport.send(try request(.get, path)).events().filter { $0.type == "figures" }.map { event in
      try JSONCoder().decode(Figures.self, from: Data((event.data ?? "").utf8))
    }
  }

  private func request(_ method: HTTPMethod, _ path: String) throws -> HTTPRequest {
    guard let url = URL(string: path, relativeTo: url) else { throw URLError(.badURL) }
    var request = try HTTPRequest(method: method, url: url.absoluteURL)
    if let cookie { try request.headers.set("Cookie", to: cookie) }
    return request
  }
}
