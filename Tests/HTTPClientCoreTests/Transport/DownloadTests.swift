import Foundation
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import Streams
import TestSupport
import Testing

@Suite struct DownloadTests {
  private let folder: URL
  private let file: URL
  private let transport = SocketTransport()

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "DownloadTests.\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appending(path: "the file")
  }

  private func download(_ server: ScriptedServer, upTo limit: Int = .max) throws -> Observable<HTTPResponseHead> {
    let request = try HTTPRequest(method: .get, url: server.url, timeouts: HTTPTimeouts(total: .seconds(10)))
    return transport.send(request).download(to: file, upTo: limit)
  }

  private var contents: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)) }
  }

  @Test func `the body is in the file, which only its owner may read`() async throws {
    let body = String(repeating: "0123456789", count: 300_000)
    let server = try ScriptedServer(.answering { _ in RawResponse(201, body: body) })
    #expect(try await download(server).value.status == 201)
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    #expect(try contents == ["the file"])
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    try FileManager.default.removeItem(at: folder)
  }

  private func mode(of file: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))[.posixPermissions] as? Int
  }

  @Test(arguments: [0o640, 0o600, 0o755, 0o444])
  func `a file that is replaced keeps its mode`(mode: Int) async throws {
    try Data("old".utf8).write(to: file)
    chmod(file.path(percentEncoded: false), mode_t(mode))
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "new") })
    #expect(try await download(server).value.status == 200)
    #expect(try Data(contentsOf: file) == Data("new".utf8))
    #expect(try self.mode(of: file) == mode)
    try FileManager.default.removeItem(at: folder)
  }

  /// To a file, to another link, and to nothing.
  @Test(arguments: [["real"], ["link", "real"], ["nothing"]], [true, false])
  func `a symbolic link stays, and what it names is replaced`(names: [String], isRelative: Bool) async throws {
    let base = folder.path(percentEncoded: false)
    let real = folder.appending(path: "real")
    try Data("old".utf8).write(to: real)
    var link = file
    for name in names {
      try FileManager.default.createSymbolicLink(
        atPath: link.path(percentEncoded: false), withDestinationPath: isRelative ? name : "\(base)/\(name)")
      link = folder.appending(path: name)
    }
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "new") })
    #expect(try await download(server).value.status == 200)
    let last = folder.appending(path: names.last ?? "")
    #expect(try String(contentsOf: last, encoding: .utf8) == "new")
    #expect(try String(contentsOf: real, encoding: .utf8) == (names == ["nothing"] ? "old" : "new"))
    let type = try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))[.type]
    #expect(type as? FileAttributeType == .typeSymbolicLink)
    try FileManager.default.removeItem(at: folder)
  }

  @Test(arguments: ["a pipe", "a folder", "a link to itself"])
  func `what is no regular file is left alone`(kind: String) async throws {
    let path = file.path(percentEncoded: false)
    switch kind {
    case "a pipe": mkfifo(path, 0o600)
    case "a folder": mkdir(path, 0o700)
    default: symlink(path, path)
    }
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "new") })
    let error = try await download(server).failure
    #expect(error?.kind == .cannotWrite)
    #expect(try contents == ["the file"])
    try FileManager.default.removeItem(at: folder)
  }

  @Test(arguments: [
    (ScriptedServer.Fault.truncatedContentLength, RequestError.Kind.connectionLost), (.resetInBody, .connectionLost),
    (.truncatedChunked, .connectionLost), (.endlessBody, .tooLarge),
  ])
  func `a response that fails leaves nothing behind, and the file as it was`(
    fault: ScriptedServer.Fault, kind: RequestError.Kind
  ) async throws {
    try Data("old".utf8).write(to: file)
    let server = try ScriptedServer(fault)
    #expect(try await download(server, upTo: 1 << 20).failure?.kind == kind)
    #expect(try Data(contentsOf: file) == Data("old".utf8))
    #expect(try contents == ["the file"])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a response whose status is no success is not written`() async throws {
    let server = try ScriptedServer(.answering { _ in RawResponse(404, body: "nothing here") })
    let error = try await download(server).failure
    #expect(error?.kind == .httpStatus)
    #expect(error?.status == 404)
    #expect(try contents == [])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `T2: a redirect is refused, with where it leads`() async throws {
    let location = [("Location", "https://example.com/new")]
    let server = try ScriptedServer(.answering { _ in RawResponse(302, headers: location) })
    let error = try await download(server).failure
    #expect(error?.kind == .redirectRefused)
    #expect(error?.message.contains("https://example.com") == true)
    #expect(try contents == [])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `disposing in the middle removes what was written`() async throws {
    let server = try ScriptedServer(.neverFinishing)
    let (disposed, written) = (Latch(), Latch())
    // Without a deadline, which could pass before this test has its turn on a busy machine.
    let request = try HTTPRequest(
      method: .get, url: server.url, timeouts: HTTPTimeouts(connect: nil, idle: nil, total: nil))
    let download = transport.send(request)
      .do(onNext: { if case .body = $0 { written.open() } })
      .download(to: file)
    let subscription = download.subscribe(onDisposed: { disposed.open() })
    try await written.wait()
    try await eventually { try !contents.isEmpty }
    subscription.dispose()
    try await disposed.wait()
    // Whoever disposes does not wait for the file system.
    try await eventually { try contents.isEmpty }
    try await server.waitForClientToClose()
    try FileManager.default.removeItem(at: folder)
  }

  @Test(arguments: [true, false])
  func `E2: it is not the task that awaits a download that writes it`(isFromMemory: Bool) async throws {
    let body = String(repeating: "x", count: 200_000)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: body) })
    let response = HTTPResponse(status: 200, body: Data(body.utf8))
    let parts =
      isFromMemory ? .from(response.parts) : transport.send(try HTTPRequest(method: .get, url: server.url))
    let isInTask = Monitor<Set<Bool>>([])
    let watched = parts.do(onNext: { _ in _ = isInTask.update { $0.insert(withUnsafeCurrentTask { $0 != nil }) } })
    #expect(try await watched.download(to: file).value.status == 200)
    #expect(isInTask.value == [false])
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a name with a NUL is refused, and no other file is touched`() async throws {
    try Data("old".utf8).write(to: folder.appending(path: "config"))
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "new") })
    let request = try HTTPRequest(method: .get, url: server.url)
    let error = await transport.send(request).download(to: folder.appending(path: "config\0.jpg")).failure
    #expect(error?.kind == .cannotWrite)
    #expect(try Data(contentsOf: folder.appending(path: "config")) == Data("old".utf8))
    #expect(try contents == ["config"])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a name may be as long as the system allows`() async throws {
    let name = String(repeating: "名", count: 85)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "new") })
    let request = try HTTPRequest(method: .get, url: server.url)
    _ = try await transport.send(request).download(to: folder.appending(path: name)).value
    #expect(try contents == [name])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a folder that is not there is an error of its own`() async throws {
    try FileManager.default.removeItem(at: folder)
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "{}") })
    #expect(try await download(server).failure?.kind == .cannotWrite)
  }
}
