public import Foundation
public import HTTP
import Streams

/// A file among the variables of an operation, where the schema has `Upload` (the GraphQL multipart request
/// specification).
///
///     struct Variables: Encodable, Sendable { let file: GraphQLUpload }
///     UploadPhoto(variables: .init(file: try .file(url))).post(on: client)
///
/// A session with such a variable is sent as `multipart/form-data`, with `null` in the variable's place, and with the
/// header fields that servers ask for against forged requests. Only `POST` can carry it, and only a transport that sends
/// an `HTTPUpload`. Variables that are `JSONEncodable` without being `Encodable` cannot hold one.
public struct GraphQLUpload: Encodable, Sendable {
  /// Tells it apart from others: at several places it is sent once.
  final class Identity: Sendable {}

  /// The bytes.
  public let content: HTTPUpload

  /// The name that the server gets.
  public let fileName: String

  /// The media type that the server gets.
  public let contentType: String

  let identity = Identity()

  /// Takes the bytes, and what the server is to know of them.
  public init(_ content: HTTPUpload, fileName: String, contentType: String = "application/octet-stream") {
    self.content = content
    self.fileName = fileName
    self.contentType = contentType
  }

  /// Encodes a value in which there may be files, and gives the paths at which they are: keys and places in lists,
  /// with dots between.
  package static func encode(
    _ value: some Encodable, by encoder: any BodyEncoder
  ) throws -> (json: Data, paths: [String]) {
    let collector = UploadCollector()
    let json = try UploadCollector.$current.withValue(collector) { try encoder.encode(value) }
    return (json, collector.uploads.flatMap(\.paths))
  }

  /// A file under its own name. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public static func file(
    _ url: URL, contentType: String = "application/octet-stream"
  ) throws(RequestError) -> GraphQLUpload {
    GraphQLUpload(try .file(url), fileName: url.lastPathComponent, contentType: contentType)
  }

  /// Writes `null`, and records where.
  public func encode(to encoder: any Encoder) throws {
    guard let found = UploadCollector.current else {
      throw EncodingError.invalidValue(
        self,
        .init(codingPath: encoder.codingPath, debugDescription: "A file is sent only by POST of a GraphQLSession."))
    }
    let path = encoder.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
    found.add(self, at: path.joined(separator: "."))
    var container = encoder.singleValueContainer()
    try container.encodeNil()
  }
}

/// Finds the uploads in what is encoded on this task.
final class UploadCollector: Sendable {
  @TaskLocal static var current: UploadCollector?

  private let found = Locked<[(upload: GraphQLUpload, paths: [String])]>([])

  var uploads: [(upload: GraphQLUpload, paths: [String])] { found.withLock { $0 } }

  func add(_ upload: GraphQLUpload, at path: String) {
    found.withLock { found in
      if let index = found.firstIndex(where: { $0.upload.identity === upload.identity }) {
        found[index].paths.append(path)
      } else {
        found.append((upload, [path]))
      }
    }
  }
}

/// The body of a GraphQL request with files, and its media type.
struct GraphQLMultipart {
  let body: HTTPUpload
  let contentType: String

  /// Encodes a request in which there are files.
  init(_ request: some Encodable, by encoder: any BodyEncoder) throws {
    let collector = UploadCollector()
    let operations = try UploadCollector.$current.withValue(collector) { try encoder.encode(request) }
    let uploads = collector.uploads
    let map = Dictionary(uniqueKeysWithValues: uploads.enumerated().map { ("\($0.offset)", $0.element.paths) })
    let boundary = "moments-" + String(UInt64.random(in: .min ... .max), radix: 16)
    var body = HTTPUpload()
    func append(_ head: String) {
      body.append(Data("--\(boundary)\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8))
    }
    append("name=\"operations\"\r\nContent-Type: application/json")
    body.append(operations)
    body.append(Data("\r\n".utf8))
    append("name=\"map\"\r\nContent-Type: application/json")
    body.append(try encoder.encode(map))
    // In the order of the map, as many servers require.
    for (index, (upload, _)) in uploads.enumerated() {
      body.append(Data("\r\n".utf8))
      let type = try HTTPField(name: "Content-Type", value: upload.contentType)
      append("name=\"\(index)\"; filename=\"\(upload.fileName.quotedInForm)\"\r\nContent-Type: \(type.value)")
      body.append(upload.content)
    }
    body.append(Data("\r\n--\(boundary)--\r\n".utf8))
    self.body = body
    contentType = "multipart/form-data; boundary=\(boundary)"
  }
}

extension String {
  /// The text as a parameter of a form's part (WHATWG HTML, section 4.10.21.8).
  fileprivate var quotedInForm: String {
    // By scalars: a carriage return and a line feed together are one character.
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\r": text += "%0D"
      case "\n": text += "%0A"
      case "\"": text += "%22"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Error {
  /// Whether a value could not be encoded because it holds a file.
  var isAboutUpload: Bool {
    if case EncodingError.invalidValue(let value, _)? = self as? EncodingError { value is GraphQLUpload } else { false }
  }
}
