// The article's samples, word for word, so that they compile; `ReadmeTests` holds the two together.

import Foundation
import GraphQLClient
import HTTPClientCore
import Streams

enum UploadsArticle {
  struct UploadPhoto: GraphQLSession {
    struct Variables: Encodable, Sendable { let file: GraphQLUpload }
    struct ResponseData: Decodable, Sendable { let uploadPhoto: String }
    static let query: GraphQLDocument = "mutation uploadPhoto($file: Upload!) { uploadPhoto(file: $file) }"
    let variables: Variables
  }

  struct PutFile: APISession {
    typealias ResponseType = HTTPResponse
    let file: HTTPUpload
    let responseParser = ResponseParser<HTTPResponse>.response

    func makeRequest(_ call: APICall) throws -> HTTPRequest {
      var request = try standardRequest(call)
      (request.body, request.upload) = (nil, file)
      return request
    }
  }

  static func upload(_ file: URL, on client: APIClient) async throws -> String {
    let session = UploadPhoto(variables: .init(file: try .file(file, contentType: "image/jpeg")))
    let path = try await client.send(session, method: .post) { progress in
      print(progress.sent, "of", progress.totalToSend ?? 0, "bytes")
    }.value.data.uploadPhoto
    return path
  }

  static func pieces(_ file: URL, _ rows: @escaping @Sendable () -> AsyncStream<Data>) throws -> HTTPUpload {
    var upload = HTTPUpload()
    upload.append(Data("name,size\n".utf8))
    try upload.append(contentsOf: file)
    upload.append { rows() }
    return upload
  }
}
