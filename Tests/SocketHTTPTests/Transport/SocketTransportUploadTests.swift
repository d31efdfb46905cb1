import Foundation
import HTTPClientCore
import HTTPTestSupport
import LoopbackServers
import SocketHTTP
import Streams
import TestSupport
import Testing

@Suite("uploads")
struct SocketTransportUploadTests {
  /// A file that goes away with this object.
  private final class TemporaryFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "moments-upload-\(UUID().uuidString)")

    init(_ bytes: [UInt8]) throws { try Data(bytes).write(to: url) }

    deinit { try? FileManager.default.removeItem(at: url) }
  }

  private static let bytes = (0..<5_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

  private func request(_ url: URL, _ upload: HTTPUpload) throws -> HTTPRequest {
    var request = try HTTPRequest(method: .put, url: url)
    request.upload = upload
    return request
  }

  @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 524_288, 5_000_001])
  func `T11: a file is sent as it is, with its length`(size: Int) async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let bytes = Array(Self.bytes.prefix(size))
    let file = try TemporaryFile(bytes)
    let transport = SocketTransport()
    for _ in 1...2 {
      let response = try await transport.send(request(server.url, .file(file.url))).collect(upTo: 100).value
      #expect(response.head.status == 200)
    }
    #expect(server.requests.count == 2)
    #expect(server.requests.allSatisfy { $0.body == bytes })
    #expect(server.requests.allSatisfy { $0["Content-Length"] == "\(size)" })
  }

  @Test func `pieces of memory and files are sent one after another`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let file = try TemporaryFile(Array(Self.bytes.prefix(200_000)))
    var upload = HTTPUpload()
    upload.append(Data("begin".utf8))
    try upload.append(contentsOf: file.url)
    upload.append(Data())
    upload.append(Data(repeating: 7, count: 2 << 20))
    try upload.append(contentsOf: file.url)
    upload.append(Data("end".utf8))
    #expect(upload.count == 5 + 400_000 + 2 << 20 + 3)
    _ = try await SocketTransport().send(request(server.url, upload)).collect(upTo: 100).value
    let body = try #require(server.requests.first?.body)
    let part = Self.bytes.prefix(200_000)
    let whole: [UInt8] = Array("begin".utf8) + part + Array(repeating: 7, count: 2 << 20) + part + Array("end".utf8)
    #expect(body == whole)
  }

  @Test func `progress is what the socket has taken of the body`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let file = try TemporaryFile(Self.bytes)
    var request = try request(server.url, .file(file.url))
    let reports = Monitor<[HTTPProgress]>([])
    request.onProgress = { progress in reports.update { $0.append(progress) } }
    _ = try await SocketTransport().send(request).collect(upTo: 100).value
    let all = try await reports.wait(for: "the last report") { $0.last?.received == 2 }
    #expect(all.allSatisfy { $0.totalToSend == 5_000_001 })
    #expect(all.last?.sent == 5_000_001)
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent })
  }

  @Test(arguments: [401, 413])
  func `an early refusal ends the sending, and is the response`(status: Int) async throws {
    let server = try ScriptedServer([.readHead, .send(RawResponse(status, body: "no")), .waitForClientToClose])
    let file = try TemporaryFile([])
    // A hole of 4 GiB takes no room, and far too long to be sent.
    truncate(file.url.path, 4 << 30)
    let response = try await SocketTransport().send(request(server.url, .file(file.url))).collect(upTo: 100).value
    #expect(response.head.status == status)
  }

  @Test func `T11: a file that was changed, or removed, before it is sent ends the request`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    for change in 0..<5 {
      let file = try TemporaryFile(Array(Self.bytes.prefix(300_000)))
      let request = try request(server.url, .file(file.url))
      switch change {
      case 0: truncate(file.url.path, 299_999)
      case 1: truncate(file.url.path, 300_001)
      case 3:
        // Its contents change, and its size and its time are those from before.
        let time = try FileManager.default.attributesOfItem(atPath: file.url.path)[.modificationDate]
        let handle = try FileHandle(forUpdating: file.url)
        try handle.write(contentsOf: Data([1]))
        try handle.close()
        try FileManager.default.setAttributes(time.map { [.modificationDate: $0] } ?? [:], ofItemAtPath: file.url.path)
        #expect(try FileManager.default.attributesOfItem(atPath: file.url.path)[.size] as? Int == 300_000)
      case 2:
        let handle = try FileHandle(forWritingTo: file.url)
        try handle.write(contentsOf: Data([1]))
        try handle.close()
      default: try FileManager.default.removeItem(at: file.url)
      }
      let error = try #require(await SocketTransport().send(request).collect(upTo: 100).failure)
      #expect(error.kind == .cannotRead)
      #expect(error.message.contains(file.url.lastPathComponent))
      // Not even its head was sent.
      #expect(error.reached == .never)
    }
    #expect(server.requests.isEmpty)
    #expect(server.log.value.connections.allSatisfy { $0.bytesReceived == 0 })
  }

  @Test func `a file that cannot be sent costs no connection`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    let (transport, file) = (SocketTransport(), try TemporaryFile([1]))
    for _ in 0..<2 {
      var upload = HTTPUpload()
      upload.append(Data("begin".utf8))
      try upload.append(contentsOf: file.url)
      let request = try request(server.url, upload)
      #expect(try await transport.send(request).collect(upTo: 100).value.head.status == 200)
      try Data([2]).write(to: file.url)
      #expect(await transport.send(request).collect(upTo: 100).failure?.reached == .never)
    }
    #expect(server.log.value.connections.count == 1)
    #expect(server.requests.count == 2)
  }

  @Test func `T11: a file that is changed while it is sent ends the request before its last byte`() async throws {
    let begun = Latch()
    let server = try ScriptedServer([.readHead, .wait(for: begun), .readRequest, .waitForClientToClose])
    // Without line ends, so that the server reads on to the end of what looks like the head of another request.
    let file = try TemporaryFile([UInt8](repeating: 65, count: 15_000_000))
    var request = try request(server.url, .file(file.url))
    request.onProgress = { progress in
      guard progress.sent > 0 else { return }
      truncate(file.url.path, 14_000_000)
      begun.open()
    }
    let error = try #require(await SocketTransport().send(request).collect(upTo: 100).failure)
    #expect(error.kind == .cannotRead)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["/nowhere/at/all", "/tmp", "/dev/null", "/dev/zero"])
  func `what is no file is refused`(path: String) {
    let error = #expect(throws: RequestError.self) { try HTTPUpload.file(URL(filePath: path)) }
    #expect(error?.kind == .cannotRead)
    #expect(error?.reached == .never)
  }

  @Test func `a request with a body and an upload is refused`() async throws {
    var request = try request(#require(URL(string: "http://127.0.0.1:1/")), HTTPUpload())
    request.body = Data()
    let error = try #require(await SocketTransport().send(request).collect(upTo: 100).failure)
    #expect(error.kind == .invalidRequest)
    request.body = nil
    #expect(throws: RequestError.self) { try request.checkFraming() }
  }

  @Test func `the default total does not end an upload, and one that was set does`() async throws {
    let opened = Latch()
    let server = try ScriptedServer([.readRequest, .wait(for: opened), .send(RawResponse(body: "{}")), .close])
    let file = try TemporaryFile(Array(Self.bytes.prefix(10)))
    var request = try request(server.url, .file(file.url))
    #expect(request.mayOutlastTotal)
    request.timeouts.total = .milliseconds(200)
    #expect(!request.mayOutlastTotal)
    let error = try #require(await SocketTransport().send(request).collect(upTo: 100).failure)
    #expect(error.kind == .timedOut)
    opened.open()
  }
}
