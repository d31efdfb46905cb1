import Foundation
import Glibc

/// One connection of a `ScriptedServer`, used by its thread alone.
struct ScriptedConnection {
  enum End: Error {
    case clientClosed
    case serverDone
  }

  /// Bytes that came but are not consumed yet, and the request that was read last.
  struct Reading {
    var buffer: [UInt8] = []
    var request: ScriptedServer.Request?
  }

  let number: Int
  let socket: Descriptor
  let log: Monitor<ScriptedServer.Log>

  func run(_ steps: [ScriptedServer.Step]) {
    var reading = Reading()
    do throws(End) {
      for step in steps { try perform(step, &reading) }
      closePolitely()
    } catch {
      if error == .clientClosed, !socket.isShutDown { record { $0.clientClosed = .now } }
    }
    socket.close()
    record { $0.isOver = true }
  }

  private func perform(_ step: ScriptedServer.Step, _ reading: inout Reading) throws(End) {
    switch step {
    case .readRequest:
      var request = try readHead(&reading)
      request.body = try readBody(of: request, &reading)
      reading.request = request
      log.update { [request] in $0.requests.append(request) }
    case .readHead:
      reading.request = try readHead(&reading)
    case .send(let bytes):
      try send(bytes)
    case .sendPieces(let pieces, let gap):
      for (index, piece) in pieces.enumerated() {
        if index > 0 { try pause(gap) }
        try send(piece)
      }
    case .sendForever(let bytes):
      while true { try send(bytes) }
    case .respond(let makeResponse):
      guard let request = reading.request else { return }
      try send(makeResponse(request).bytes)
      if request["Connection"]?.lowercased() == "close" { try perform(.close, &reading) }
    case .wait(let latch):
      try wait(for: latch)
    case .waitForClientToClose:
      try pause(nil)
    case .finishSending:
      shutdown(socket.number, Int32(SHUT_WR))
    case .close:
      closePolitely()
      throw .serverDone
    case .reset:
      socket.resetWhenClosed()
      throw .serverDone
    case .forever(let steps):
      while true {
        for step in steps { try perform(step, &reading) }
      }
    }
  }
}
