import Foundation
import HTTP
import Models
import Networking
import Repository
import Streams

/// One run of the command.
@main
struct MomentsCommand {
  let arguments: Arguments
  let environment: [String: String]
  let interrupt: Interrupt

  static func main() async {
    Output.prepare()
    let interrupt = Interrupt()
    do {
      let environment = ProcessInfo.processInfo.environment
      let arguments = try Arguments(commandLine(), environment: environment)
      try await MomentsCommand(arguments: arguments, environment: environment, interrupt: interrupt).run()
    } catch {
      if !(error is ToldError) { Output.standardError.say("\(ErrorLine(error))") }
      exit(ExitCode(error).rawValue)
    }
  }

  private static func commandLine() throws(UsageError) -> [String] {
    var texts: [String] = []
    for (position, argument) in CommandLine.argumentBytes.enumerated().dropFirst() {
      guard let text = String(validating: argument, as: UTF8.self) else {
        throw UsageError("argument \(position) is not valid UTF-8")
      }
      texts.append(text)
    }
    return texts
  }

  private func run() async throws {
    switch arguments.action {
    case .help: try Output.standardOutput.write(Help.text)
    case .version: try Output.standardOutput.write(Help.version)
    case .timeline: try await showTimeline()
    case .updateLike(let isLiked, let momentID): try await updateLike(isLiked, momentID)
    case .cacheStatistics: try showCacheStatistics()
    case .clearCache: try clearCache()
    case .listOutbox: try listOutbox()
    case .flushOutbox: try await flushOutbox()
    case .discard(let id): try discard(id)
    case .retry(let id): try retry(id)
    }
  }

  /// The stream's only element; the first Ctrl-C cancels it. Whatever was cached on the way is on disk when this ends,
  /// even if it throws.
  func answer<Value>(_ stream: Observable<Value>, from service: Service) async throws -> Value {
    let result = await interrupt.result(of: Task { try await stream.value })
    await service.repo.flush()
    return try result.get()
  }

  func show(_ result: some Encodable, _ draw: (TimelineRenderer) throws -> String) throws {
    guard !arguments.showsJSON else { return try Output.standardOutput.write(JSONOutput.text(result)) }
    let terminal = Terminal(descriptor: Output.standardOutput.descriptor, environment: environment)
    try Output.standardOutput.write(draw(TimelineRenderer(columns: terminal.columns, style: terminal.style, now: now)))
  }

  /// Prints what was done for programs (`--json`); for people, no message means success.
  func showJSON<Value: Encodable>(_ name: String, _ value: @autoclosure () throws -> Value) throws {
    if arguments.showsJSON { try Output.standardOutput.write(JSONOutput.text([name: value()])) }
  }

  /// Opens the service, and prints messages about queued likes as they are sent or refused.
  func service() throws -> Service {
    let start = StoreTime.now()
    let service = try Service(arguments, now: now, say: { Output.standardError.say($0) })
    _ = service.outbox?.changes.subscribe(onNext: { change in
      if let line = Self.line(for: change, since: start) { Output.standardError.say(line.sanitized(upTo: 2_000)) }
    })
    return service
  }

  func say(_ line: String) { Output.standardError.say(line.sanitized(upTo: 4_000)) }

  private var now: Int64 { Int64(Date().timeIntervalSince1970) }
}

extension CommandLine {
  /// The process's arguments as bytes, including the command's own name.
  fileprivate static var argumentBytes: [[UInt8]] {
    (0..<Int(argc)).compactMap { unsafeArgv[$0] }.map { text in
      Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
  }
}
