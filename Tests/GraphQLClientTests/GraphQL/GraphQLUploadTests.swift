import Foundation
import GraphQLClient
import GraphQLClientTestSupport
import GraphQLClientTesting
import HTTPClientCore
import HTTPTestSupport
import SocketHTTP
import Streams
import StrictJSON
import SystemBase
import TestSupport
import Testing

@Suite("files among the variables")
struct GraphQLUploadTests {
  private struct UploadPhoto: GraphQLSession {
    struct Variables: Encodable, Sendable {
      let file: GraphQLUpload
    }
    struct ResponseData: Decodable, Sendable {
      let uploadPhoto: String
    }
    static let query: GraphQLDocument = "mutation uploadPhoto($file: Upload!) { uploadPhoto(file: $file) }"
    let variables: Variables
  }

  private struct Attach: GraphQLSession {
    struct Variables: Encodable, Sendable {
      struct Item: Encodable, Sendable {
        let title: String
        let files: [GraphQLUpload?]
      }
      let cover: GraphQLUpload
      let items: [Item]
    }
    typealias ResponseData = JSONValue
    static let query: GraphQLDocument =
      "mutation attach($cover: Upload!, $items: [Item!]!) { attach(cover: $cover, items: $items) }"
    let variables: Variables
  }

  private func upload(_ text: String, _ name: String) -> GraphQLUpload {
    var content = HTTPUpload()
    content.append(Data(text.utf8))
    return GraphQLUpload(content, fileName: name, contentType: "text/plain")
  }

  @Test func `the real server gets a file as it is, and gives it back`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard())
    let url = FileManager.default.temporaryDirectory.appending(path: "photo \"\(UUID().uuidString)\".bin")
    let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 5) })
    try bytes.write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    let session = UploadPhoto(variables: .init(file: try .file(url, contentType: "image/x-test")))
    let path = try await session.data(on: client).value.uploadPhoto
    let stored = try await RawHTTP.get(path, port: server.port)
    #expect(Data(stored.body) == bytes)
  }

  @Test func `the real server gets a stream whose size nobody knows, in chunks`() async throws {
    let server = try await BFFServer.start()
    let client = try APIClient(baseURL: server.graphqlURL, middlewares: .standard())
    let content = HTTPUpload.stream {
      AsyncStream { continuation in
        for piece in ["one, ", "two, ", "three"] { continuation.yield(Data(piece.utf8)) }
        continuation.finish()
      }
    }
    let session = UploadPhoto(variables: .init(file: GraphQLUpload(content, fileName: "a.txt")))
    let path = try await session.data(on: client).value.uploadPhoto
    #expect(try await RawHTTP.get(path, port: server.port).body == Array("one, two, three".utf8))
  }

  private struct Put: APISession {
    typealias ResponseType = HTTPResponse
    let content: HTTPUpload
    let idempotencyKey: String? = "key"
    let responseParser = ResponseParser<HTTPResponse>.response

    func makeRequest(_ call: APICall) throws -> HTTPRequest {
      var request = try standardRequest(call)
      (request.body, request.upload) = (nil, content)
      return request
    }
  }

  @Test(arguments: [503, 307])
  func `R1: retries and redirects open a stream again, and are none if it can be read once`(status: Int) async throws {
    let refused = Locked(false)
    let server = try ScriptedServer(
      .answering { _ in
        let isFirst = refused.withLock { refused in
          defer { refused = true }
          return !refused
        }
        return isFirst ? RawResponse(status, headers: [("Location", "/again")], body: "{}") : RawResponse(body: "{}")
      })
    let client = try APIClient(baseURL: server.url, middlewares: .standard(redirects: 1))
    let bytes = AsyncStream<Data> { continuation in
      continuation.yield(Data("once".utf8))
      continuation.finish()
    }
    let once = Put(content: .stream(once: bytes)).put(on: client).map(\.head.status).catch { error in
      .just(RequestError(wrapping: error).status ?? 0)
    }
    #expect(try await once.value == status)
    #expect(server.requests.count == 1)
    refused.withLock { $0 = false }
    let again = HTTPUpload.stream {
      AsyncStream<Data> { continuation in
        continuation.yield(Data("again".utf8))
        continuation.finish()
      }
    }
    #expect(try await Put(content: again).put(on: client).value.head.status == 200)
    #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["once", "again", "again"])
  }

  private func bytes(of upload: HTTPUpload) throws -> [UInt8] {
    let reader = HTTPUploadReader(upload, FileAccess { $0() }, whenReady: {})
    var bytes: [UInt8] = []
    while !reader.isAtEnd {
      guard case .lent(let piece) = try reader.withNext({ Array($0) + Array($1) }) else { break }
      bytes += piece
      _ = reader.advance(by: piece.count)
    }
    return bytes
  }

  @Test(arguments: [JSONCoder(keys: .snakeCase) as any BodyEncoder, FoundationJSON(keys: .snakeCase)])
  func `the map has the paths as the encoder spells them`(encoder: any BodyEncoder) throws {
    struct Change: GraphQLSession {
      struct Variables: Encodable, Sendable {
        struct Input: Encodable, Sendable { let coverPhoto: GraphQLUpload }
        let newAlbum: Input
      }
      typealias ResponseData = JSONValue
      static let query: GraphQLDocument = "mutation change($new_album: Album!) { change(album: $new_album) }"
      let variables: Variables
    }
    var client = try client()
    client.encoder = encoder
    let session = Change(variables: .init(newAlbum: .init(coverPhoto: upload("A", "a"))))
    let request = try session.standardRequest(APICall(.post, on: client))
    let text = String(decoding: try bytes(of: #require(request.upload)), as: UTF8.self)
    #expect(text.contains(#""new_album":{"cover_photo":null}"#))
    #expect(text.contains(#"{"0":["variables.new_album.cover_photo"]}"#))
  }

  @Test func `more than ten files stand in the map in the order of their parts`() throws {
    let files = (0..<12).map { upload("content \($0)", "\($0).txt") }
    let session = Attach(variables: .init(cover: files[0], items: [.init(title: "t", files: Array(files[1...]))]))
    let request = try session.standardRequest(APICall(.post, on: client()))
    let text = String(decoding: try bytes(of: #require(request.upload)), as: UTF8.self)
    let map = try #require(text.components(separatedBy: "\r\n").first { $0.hasPrefix(#"{"0":"#) })
    let names = map.split(separator: #"":["#).dropLast().compactMap { $0.split(separator: "\"").last.map(String.init) }
    #expect(names == (0..<12).map(String.init))
    let parts = text.components(separatedBy: "name=\"").dropFirst(3).compactMap { $0.split(separator: "\"").first }
    #expect(parts.filter { Int($0) != nil }.map(String.init) == names)
  }

  @Test func `T11: a file reaches the real server over TLS whole, with its length and its progress`() async throws {
    let server = try await BFFServer.start()
    let authority = try TestCertificate(.init(commonName: "Authority", isAuthority: true))
    let certificate = try TestCertificate(.init(names: ["IP:127.0.0.1"]), signedBy: authority)
    let relay = try TLSRelay(to: server.port, TLSServerContext(TLSServerSettings(certificate: certificate)))
    var configuration = SocketTransport.Configuration()
    configuration.tls = TLSConfiguration(trust: .only(.bytes(authority.certificate)))
    let client = try APIClient(
      baseURL: url("https://127.0.0.1:\(relay.port)/graphql"), transport: SocketTransport(configuration: configuration),
      middlewares: .standard())
    let file = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
    let bytes = (0..<5_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    try Data(bytes).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let session = UploadPhoto(variables: .init(file: try .file(file)))
    let reports = Monitor<[HTTPProgress]>([])
    let path = try await client.send(session, method: .post) { progress in reports.update { $0.append(progress) } }
      .value.data.uploadPhoto
    #expect(try await RawHTTP.get(path, port: server.port).body == bytes)
    let all = try await reports.wait(for: "the last report") { ($0.last?.received ?? 0) > 0 }
    #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent })
    let total = try #require(all.last?.sent)
    #expect(all.allSatisfy { $0.totalToSend == total })
    #expect(total > bytes.count)
    #expect(relay.resumptions.value.count == 1)
  }

  @Test func `files follow operations and map, in its order, each once`() throws {
    let (a, b) = (upload("AAA", "a.txt"), upload("BBB", "b\"\r\n.txt"))
    let session = Attach(variables: .init(cover: a, items: [.init(title: "t", files: [b, nil, a])]))
    let client = try client()
    let request = try session.standardRequest(APICall(.post, on: client))
    let type = try #require(request.headers["Content-Type"])
    let boundary = try #require(type.split(separator: "=").last)
    #expect(type.hasPrefix("multipart/form-data; boundary="))
    #expect(request.body == nil)
    for name in ["Apollo-Require-Preflight", "GraphQL-Require-Preflight", "X-GraphQL-Yoga-CSRF"] {
      #expect(request.headers.contains(name))
    }
    let upload = try #require(request.upload)
    let bytes = try bytes(of: upload)
    #expect(bytes.count == upload.count)
    let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "--\(boundary)")
    #expect(parts.count == 6)
    #expect(parts.first == "")
    #expect(parts.last == "--\r\n")
    #expect(parts[1].contains("name=\"operations\""))
    #expect(parts[1].contains(#""cover":null"#))
    #expect(parts[1].contains(#""files":[null,null,null]"#))
    #expect(parts[2].contains("name=\"map\""))
    #expect(parts[2].contains(#""0":["variables.cover","variables.items.0.files.2"]"#))
    #expect(parts[2].contains(#""1":["variables.items.0.files.0"]"#))
    #expect(parts[3].contains("name=\"0\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nAAA\r\n"))
    #expect(parts[4].contains("name=\"1\"; filename=\"b%22%0D%0A.txt\""))
    #expect(parts[4].hasSuffix("\r\n\r\nBBB\r\n"))
  }

  @Test func `a transport that cannot send files says so`() async throws {
    let session = UploadPhoto(variables: .init(file: upload("A", "a")))
    let error = try #require(await session.post(on: client()).failure)
    #expect(error.kind == .invalidRequest)
    #expect(error.operationName == "uploadPhoto")
  }
}
