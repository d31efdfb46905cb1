import Dispatch
import Foundation
import Stores
import Streams
import Synchronization

/// One process of the fleet that `Scripts/soak --fleet` keeps under load. It reads commands from its input, a line each, and
/// writes what happens to its output, as lines of JSON:
///
/// - `quiet`: ends the load, signs all accounts in, and sends what waits in the outboxes
/// - `show`: says what each account shows
/// - `end`: closes everything, and exits; so does SIGTERM
@main
struct SoakMember {
  static func main() async {
    guard let settings = Settings(Array(CommandLine.arguments.dropFirst())) else {
      end("usage: soak-member NUMBER REDIS-PORT GATEWAY-PORT FOLDER PAUSE-MS")
    }
    do {
      try FileManager.default.createDirectory(at: settings.folder, withIntermediateDirectories: true)
    } catch {
      end("soak-member: no folder '\(settings.folder.path)' can be made. Name one that can be written.")
    }
    // Handled by the source below.
    signal(SIGTERM, SIG_IGN)
    let (commands, continuation) = AsyncStream<String>.makeStream()
    let terminated = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    terminated.setEventHandler { @Sendable in continuation.yield("end") }
    terminated.resume()
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.yield("end")
    }
    let load = Load(settings)
    let running = Task { await load.run() }
    for await command in commands {
      switch command {
      case "quiet":
        running.cancel()
        await running.value
        await load.settle()
        say(["quiet": true])
      case "show": say(["show": await load.show()])
      default:
        running.cancel()
        await running.value
        await load.close()
        say(["ended": true])
        exit(0)
      }
    }
    terminated.cancel()
  }

  /// Says in one line what is wrong with the arguments.
  private static func end(_ line: String) -> Never {
    FileHandle.standardError.write(Data((line + "\n").utf8))
    exit(64)
  }
}
