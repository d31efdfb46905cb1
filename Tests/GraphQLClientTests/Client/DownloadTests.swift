import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import Streams
import SystemBase
import TestSupport
import Testing

@Suite("Downloads of sessions")
struct SessionDownloadTests {
  private struct GetPhoto: APISession {
    typealias ResponseType = NoContent
    let id = "7"
    var path: String { "photos/\(id)" }
  }

  /// Keeps how requests ended.
  private struct Summaries: RequestObserver {
    let all = Locked<[RequestSummary]>([])

    func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
      { event in
        if case .ended(let summary) = event { all.withLock { $0.append(summary) } }
      }
    }
  }

  private let observer = Summaries()
  private let folder: URL
  private let file: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "SessionDownloadTests.\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appending(path: "photo")
  }

  private func client(_ server: ScriptedServer) throws -> APIClient {
    var client = try APIClient(
      baseURL: server.url, transport: SocketTransport(), middlewares: .standard(), observer: observer,
      responseBodyLimit: 1)
    try client.defaultHeaders.set("Authorization", to: "Bearer \(canary)")
    return client
  }

  private var contents: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)) }
  }

  @Test func `a download uses the client's headers, middlewares and observer`() async throws {
    let body = String(repeating: "0123456789", count: 300_000)
    let server = try ScriptedServer(.answering { _ in RawResponse(contentType: "image/jpeg", body: body) })
    #expect(try await client(server).download(GetPhoto(), to: file).value.mediaType == "image/jpeg")
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    let request = try #require(server.requests.first)
    #expect(request.method == "GET")
    #expect(request.target == "/photos/7")
    #expect(request["Accept"] == "*/*")
    #expect(request["Authorization"] == "Bearer \(canary)")
    #expect(request["traceparent"] == nil)
    let summary = try #require(observer.all.withLock { $0 }.first)
    #expect(summary.outcome.label == "succeeded")
    #expect(summary.receivedBytes == body.utf8.count)
    #expect(summary.status == 200)
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a download reports its progress`() async throws {
    let half = Latch()
    let server = try ScriptedServer([
      .readRequest, .send(RawResponse().bytes(contentLength: 20)), .send("0123456789"), .wait(for: half),
      .send("0123456789"), .close,
    ])
    let reports = Monitor<[HTTPProgress]>([])
    let head = try client(server).download(GetPhoto(), to: file) { progress in reports.update { $0.append(progress) } }
    async let download = head.value
    try await reports.wait { $0.last?.received == 10 }
    half.open()
    _ = try await download
    try await reports.wait { $0.last?.received == 20 }
    #expect(reports.value.allSatisfy { $0.totalToReceive == 20 })
    try FileManager.default.removeItem(at: folder)
  }

  @Test(arguments: [false, true])
  func `an upload reports its progress`(isIntercepted: Bool) async throws {
    struct AddPhoto: APISession {
      typealias ResponseType = NoContent
      let parameters: Data
      var bodyFormat: BodyFormat { .data(contentType: "image/jpeg") }
    }
    struct Interceptor: SessionInterceptor {
      func intercept<Session: APISession>(
        _ session: Session, next: @escaping @Sendable (Session) -> Observable<Session.ResponseType>
      ) -> Observable<Session.ResponseType> { next(session) }
    }
    let server = try ScriptedServer(.answering { _ in RawResponse(204, contentType: nil) })
    let reports = Monitor<[HTTPProgress]>([])
    var client = try client(server)
    if isIntercepted { client.interceptors = [Interceptor()] }
    let sending = client.send(AddPhoto(parameters: Data(count: 1 << 20)), method: .post) { progress in
      reports.update { $0.append(progress) }
    }
    _ = try await sending.value
    try await reports.wait { $0.last?.sent == 1 << 20 }
    #expect(reports.value.allSatisfy { $0.totalToSend == 1 << 20 })
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `T2: a redirect is refused under the operation's name, with where it leads`() async throws {
    let location = "https://photos.example.com/\(canary)/7"
    let server = try ScriptedServer(.answering { _ in RawResponse(302, headers: [("Location", location)]) })
    let error = try #require(await client(server).download(GetPhoto(), to: file).failure)
    #expect(error.kind == .redirectRefused)
    #expect(error.status == 302)
    #expect(error.operationName == "GetPhoto")
    #expect(error.message.contains("'https://photos.example.com:443'"))
    #expect(observer.all.withLock { $0 }.map(\.outcome.label) == ["redirect refused"])
    #expect(try contents == [])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `another status, and what is over the limit, are errors, and leave no file`() async throws {
    let missing = try ScriptedServer(.answering { _ in RawResponse(404, body: "no") })
    #expect(try await client(missing).download(GetPhoto(), to: file).failure?.kind == .httpStatus)
    let large = try ScriptedServer(.answering { _ in RawResponse(body: "1234567890") })
    #expect(try await client(large).download(GetPhoto(), to: file, upTo: 9).failure?.kind == .tooLarge)
    #expect(try await client(large).download(GetPhoto(), to: file, upTo: 10).failure == nil)
    #expect(try contents == ["photo"])
    try FileManager.default.removeItem(at: folder)
  }

  @Test func `a method and what a request cannot be sent with are the session's, as ever`() async throws {
    struct Render: APISession {
      typealias ResponseType = NoContent
      let parameters: [String: String]
      let path: String
    }
    let server = try ScriptedServer(.answering { _ in RawResponse(body: "%PDF") })
    let client = try client(server)
    _ = try await client.download(Render(parameters: ["a": "b"], path: "render"), method: .post, to: file).value
    #expect(server.requests.map { "\($0.method) \(String(decoding: $0.body, as: UTF8.self))" } == [#"POST {"a":"b"}"#])
    let error = await client.download(Render(parameters: [:], path: "../render"), to: file).failure
    #expect(error?.kind == .invalidRequest)
    #expect(error?.operationName == "Render")
    #expect(server.requests.count == 1)
    try FileManager.default.removeItem(at: folder)
  }
}
