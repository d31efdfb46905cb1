import Foundation

/// What a server sends, after its settings if the first byte says so, to a client with some requests. The same must come
/// of it however it is split; what is kept, and what is sent, must be limited.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  var bytes: [UInt8] = start[0] & 1 == 0 ? [] : [0, 0, 0, 4, 0, 0, 0, 0, 0]
  bytes += UnsafeBufferPointer(start: start + 1, count: count - 1)
  let size = Int(start[0] >> 1) + 1
  precondition(outcome(bytes, pieces: .max) == outcome(bytes, pieces: size), "It matters where the bytes are cut.")
  check(bytes, pieces: size)
  return 0
}

private struct Outcome: Equatable {
  var events: [HTTP2Event] = []
  var output: [UInt8] = []
  var failure: HTTP2ConnectionError?
  var isCut = false
}

private let head: HTTP2RequestHead = {
  guard let url = URL(string: "https://example.com/graphql"),
    let request = try? HTTPRequest(method: .post, url: url, headers: ["Accept": "*/*", "Authorization": "Bearer abc"])
  else { preconditionFailure("The request is valid.") }
  return HTTP2RequestHead(request)
}()

private func open(_ machine: inout HTTP2Machine) {
  var heads = [head, head, head]
  heads[1].method = "HEAD"
  for head in heads { _ = machine.open(head, isEnd: head.isHead) }
  machine.send(Data(repeating: 1, count: 300), on: 1, isEnd: true)
  machine.send(Data(repeating: 2, count: 20_000), on: 5, isEnd: true)
}

private func outcome(_ bytes: [UInt8], pieces size: Int) -> Outcome {
  var outcome = Outcome()
  var machine = HTTP2Machine()
  open(&machine)
  outcome.failure = receive(bytes, pieces: size, &machine) { _ in }
  outcome.isCut = machine.receiveEnd()
  while let event = machine.nextEvent() { outcome.events.append(event) }
  while let piece = machine.withOutput({ Array($0) }) {
    outcome.output += piece
    machine.didWrite(piece.count)
  }
  precondition(outcome.output.count < 100_000, "It sends too much.")
  return outcome
}

/// Reads with small windows, as a client that consumes and cancels.
private func check(_ bytes: [UInt8], pieces size: Int) {
  var machine = HTTP2Machine(HTTP2Configuration(connectionWindow: 1 << 17, streamWindow: 500))
  open(&machine)
  var (received, ended) = (0, Set<UInt32>())
  _ = receive(bytes, pieces: size, &machine) { machine in
    while let event = machine.nextEvent() {
      if let stream = event.stream {
        if case .closed = event {} else { precondition(!ended.contains(stream), "Something follows an end.") }
      }
      switch event {
      case .data(let stream, let data):
        received += data.count
        precondition(!data.isEmpty, "A piece is empty.")
        machine.consumed(data.count / 2 + 1, on: stream)
        if data.count == 7 {
          machine.cancel(stream)
          ended.insert(stream)
        }
      case .end(let stream, _), .reset(let stream, _): ended.insert(stream)
      default: break
      }
    }
    if let count = machine.withOutput(\.count) { machine.didWrite(count / 2) }
  }
  precondition(received <= bytes.count, "More was received than was sent.")
  precondition(machine.openCount >= 0 && machine.openCount <= 3, "The streams are miscounted.")
}

private func receive(
  _ bytes: [UInt8], pieces size: Int, _ machine: inout HTTP2Machine, _ then: (inout HTTP2Machine) -> Void
) -> HTTP2ConnectionError? {
  var rest = bytes[...]
  while !rest.isEmpty {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(size, rest.count), alignment: 1)
    defer { piece.deallocate() }
    piece.copyBytes(from: rest.prefix(size))
    rest = rest.dropFirst(size)
    do throws(HTTP2ConnectionError) {
      try machine.receive(UnsafeRawBufferPointer(piece), at: Instant(nanoseconds: 0))
    } catch {
      return error
    }
    then(&machine)
  }
  return nil
}
