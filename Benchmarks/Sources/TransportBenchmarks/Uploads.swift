import BenchmarkSupport
import Foundation
import HTTPClientCore
import SocketHTTP
import Streams

/// An upload of 1 GiB from a file over plain HTTP, beside a loop of `read` and `write` with blocks of the same size.
enum Uploads {
  enum Sender: String, CaseIterable {
    case sockets = "SocketTransport"
    case loop = "read and write"
  }

  /// What one process measured.
  struct Result: Codable {
    let seconds: Double
    let processorSeconds: Double
    /// How much its memory has grown, in MiB.
    let memory: Double
  }

  private static let size = 1 << 30
  private static let blockSize = 256 << 10

  /// Prints the rows, as medians.
  static func run(rounds: Int, folder: URL) throws {
    let file = folder.appending(path: "upload")
    let block = Data((0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    for _ in 0..<size / block.count { try handle.write(contentsOf: block) }
    try handle.close()
    let (sink, ports) = try OwnProcess.server(["sink"])
    defer { sink.process.terminate() }

    print("\n| upload of 1 GiB | MiB/s | CPU ms | memory MiB |\n|---|---:|---:|---:|")
    var results: [Sender: [Result]] = [:]
    for round in 0..<rounds {
      for sender in round.isMultiple(of: 2) ? Sender.allCases : Sender.allCases.reversed() {
        results[sender, default: []].append(
          try OwnProcess.measure(["upload", sender.rawValue, file.path(), "\(ports[0])"]))
      }
    }
    for sender in Sender.allCases {
      func median(_ value: (Result) -> Double) -> Double {
        (results[sender] ?? []).map(value).sorted()[rounds / 2]
      }
      let rate = Double(size >> 20) / median(\.seconds)
      print(
        "| \(sender.rawValue) | \(Int(rate)) | \(Int(median(\.processorSeconds) * 1_000)) "
          + "| \(median(\.memory).formatted(1)) |")
    }
  }

  /// Sends a file, in a process of its own.
  static func measure(_ sender: String, _ path: String, port: UInt16) async throws -> Result {
    let (memory, begin, start) = (peakMemory(), processorTime(), ContinuousClock.now)
    switch Sender(rawValue: sender) {
    case .sockets:
      guard let url = URL(string: "http://127.0.0.1:\(port)/") else { throw URLError(.badURL) }
      var request = try HTTPRequest(method: .put, url: url)
      request.upload = try .file(URL(filePath: path))
      for try await _ in SocketTransport().send(request).values(bufferingPolicy: .unbounded) {}
    case .loop: try loop(path, port)
    case nil: throw CocoaError(.featureUnsupported)
    }
    return Result(
      seconds: (ContinuousClock.now - start) / .seconds(1), processorSeconds: processorTime() - begin,
      memory: peakMemory() - memory)
  }

  private static func loop(_ path: String, _ port: UInt16) throws {
    let (file, socket) = (open(path, O_RDONLY), socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    defer { for descriptor in [file, socket] { close(descriptor) } }
    var address = sockaddr_in()
    (address.sin_family, address.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw URLError(.cannotConnectToHost) }
    var buffer = [UInt8](repeating: 0, count: blockSize)
    var head = Array("PUT / HTTP/1.1\r\nContent-Length: \(size)\r\n\r\n".utf8)
    _ = write(socket, &head, head.count)
    while case let count = read(file, &buffer, blockSize), count > 0 {
      var sent = 0
      while sent < count {
        let written = buffer[sent..<count].withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
        guard written > 0 else { throw URLError(.networkConnectionLost) }
        sent += written
      }
    }
    _ = read(socket, &buffer, blockSize)
  }

  /// The greatest memory of this process so far, in MiB.
  private static func peakMemory() -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return line.flatMap { Double($0.filter(\.isNumber)) }.map { $0 / 1_024 } ?? 0
  }

  /// A server that reads requests of this size and throws them away, one after another.
  static func sink() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, address, &length) == 0
      }
    }
    guard result else { throw URLError(.cannotCreateFile) }
    print(UInt16(bigEndian: address.sin_port))
    fflush(nil)
    let end = Array("\r\n\r\n".utf8)
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while case let client = accept(listener, nil, nil), client >= 0 {
      var (head, left): ([UInt8], Int?) = ([], nil)
      while left ?? 1 > 0, case let count = read(client, &buffer, buffer.count), count > 0 {
        if let rest = left {
          left = rest - count
        } else {
          head += buffer[..<count]
          if let bounds = head.firstRange(of: end) { left = size - (head.count - bounds.upperBound) }
        }
      }
      var response = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}".utf8)
      _ = write(client, &response, response.count)
      close(client)
    }
  }
}
