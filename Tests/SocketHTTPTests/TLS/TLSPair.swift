import Foundation
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import TestSupport

/// A client and a server whose bytes are carried in memory.
final class TLSPair {
  let client: TLSSession
  let server: TLSServerEngine
  private(set) var clientError: RequestError?
  private(set) var serverError: (any Error)?

  init(_ context: TLSContext, _ server: TLSServerContext, host: String = "server.test") throws {
    client = try TLSSession(context, host: host, port: 443)
    self.server = try TLSServerEngine(server)
  }

  /// Carries bytes to and fro until both are done, one has failed, or neither has anything to say; `true` where both
  /// are done and content. Each way the bytes come in pieces of that size.
  @discardableResult
  func shake(piece: Int = .max) throws -> Bool {
    var (isClientDone, isServerDone) = (false, false)
    while true {
      if clientError == nil {
        do throws(RequestError) { isClientDone = try client.handshake() } catch { clientError = error }
      }
      let fromClient = client.takeOutgoing()
      try server.receive(fromClient)
      if serverError == nil { do { isServerDone = try server.handshake() } catch { serverError = error } }
      let fromServer = try server.takeOutgoing()
      for part in fromServer.parts(of: piece) {
        client.receive(part)
        guard clientError == nil else { continue }
        do throws(RequestError) { isClientDone = try client.handshake() } catch { clientError = error }
      }
      if fromClient.isEmpty && fromServer.isEmpty { return isClientDone && isServerDone }
    }
  }

  /// Carries what the client has to send, and gives what the server reads.
  func send() throws -> Data {
    try server.receive(client.takeOutgoing())
    var result = Data()
    while let part = try server.read(), !part.isEmpty { result += part }
    return result
  }

  /// Carries what the server has to send, and gives what the client reads until it needs more or all is read.
  func answer(piece: Int = .max) throws(RequestError) -> (Data, TLSSession.ReadResult) {
    var result = Data()
    var last = TLSSession.ReadResult.needsMore
    for part in ((try? server.takeOutgoing()) ?? Data()).parts(of: piece) {
      client.receive(part)
      last = try client.readAll(into: &result)
    }
    return (result, last)
  }
}

extension TLSSession {
  func receive(_ data: Data) {
    data.withUnsafeBytes { receive($0) }
  }

  func write(_ data: Data) throws(RequestError) {
    let result = data.withUnsafeBytes { bytes -> Result<Void, RequestError> in
      do throws(RequestError) { return .success(try write(bytes)) } catch { return .failure(error) }
    }
    try result.get()
  }

  /// What waits to be sent, taken in several goes where it is much.
  func takeOutgoing() -> Data {
    var result = Data()
    while outgoingCount > 0 {
      sendOutgoing { bytes in
        result += bytes.prefix(10_000)
        return min(bytes.count, 10_000)
      }
    }
    return result
  }

  /// Reads until there is no more, that many bytes at a time; gives why.
  func readAll(into result: inout Data, room: Int = 5000) throws(RequestError) -> ReadResult {
    while true {
      let read = try readOnce(into: &result, room: room)
      guard case .bytes = read else { return read }
    }
  }

  /// Reads once, at most that many bytes.
  func readOnce(into result: inout Data, room: Int = 5000) throws(RequestError) -> ReadResult {
    var buffer = [UInt8](repeating: 0, count: room)
    let read = buffer.withUnsafeMutableBytes { bytes -> Result<ReadResult, RequestError> in
      do throws(RequestError) { return .success(try self.read(into: bytes)) } catch { return .failure(error) }
    }
    if case .success(.bytes(let count)) = read { result += buffer[..<count] }
    return try read.get()
  }
}

extension Data {
  /// The bytes cut into parts of that size; one empty part where there are none.
  func parts(of size: Int) -> [Data] {
    guard count > size else { return [self] }
    return stride(from: 0, to: count, by: size).map { Data(dropFirst($0).prefix(size)) }
  }
}
