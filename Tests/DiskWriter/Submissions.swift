import Dispatch
import Foundation
import HTTP
import Repository
import Streams

/// Puts one number after the other into an outbox that reaches no server, until it is killed, and writes each that is
/// said to be queued.
func submitNumbers(in folder: String, from first: Int) throws -> Never {
  let outbox = try Outbox<Int, Int>(
    folder: URL(fileURLWithPath: folder), partition: "", isIdempotent: { _ in true },
    send: { _, _ in .error(RequestError(.cannotConnect, "There is no server.")) })
  var number = first
  while true {
    let ended = DispatchSemaphore(value: 0)
    let submission = outbox.submit(number).subscribe(onError: { [number] error in
      if case OutboxError.queued = error { FileHandle.standardOutput.write(Data("\(number)\n".utf8)) }
      ended.signal()
    })
    ended.wait()
    submission.dispose()
    number += 1
  }
}
