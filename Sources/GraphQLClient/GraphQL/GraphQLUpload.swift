public import HTTPClientCore
import Streams
import StrictJSON
public import SystemBase

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
    let (json, uploads) = try UploadCollector.encode(value, by: encoder)
    return (json, uploads.flatMap(\.paths))
  }

  /// A file under its own name. Throws `cannotRead` if it cannot be opened, or is not a regular file.
  public static func file(
    _ url: URL, contentType: String = "application/octet-stream"
  ) throws(RequestError) -> GraphQLUpload {
    GraphQLUpload(try .file(url), fileName: url.lastPathComponent, contentType: contentType)
  }

  /// Writes `null`, once its place was found.
  public func encode(to encoder: any Encoder) throws {
    guard let found = UploadCollector.current else {
      throw EncodingError.invalidValue(
        self,
        .init(codingPath: encoder.codingPath, debugDescription: "A file is sent only by POST of a GraphQLSession."))
    }
    var container = encoder.singleValueContainer()
    if let mark = found.mark(of: self) { try container.encode(mark) } else { try container.encodeNil() }
  }
}

/// Finds the uploads in what is encoded on this task.
///
/// A value is encoded twice: first with a mark in the place of each file, by which its path is found as the encoder
/// spells it, whatever it makes of keys; then with `null`.
final class UploadCollector: Sendable {
  @TaskLocal static var current: UploadCollector?

  private struct State {
    var uploads: [GraphQLUpload] = []
    var isMarking = true
  }

  /// What all marks begin with; it occurs nowhere else.
  private let prefix = "upload-\(UInt64.random(in: .min ... .max))-"
  private let state = Locked(State())

  /// A value as JSON, and the files in it, each with the paths at which it is.
  static func encode(
    _ value: some Encodable, by encoder: any BodyEncoder
  ) throws -> (json: Data, uploads: [(upload: GraphQLUpload, paths: [String])]) {
    let collector = UploadCollector()
    return try $current.withValue(collector) {
      let marked = try JSONValue(json: encoder.encode(value).bytes)
      let uploads = collector.state.withLock { state in
        state.isMarking = false
        return state.uploads
      }
      var paths = Array(repeating: [String](), count: uploads.count)
      collector.search(marked, at: [], &paths)
      return (try encoder.encode(value), Array(zip(uploads, paths)))
    }
  }

  /// What is written in the place of a file, the same for one that occurs again; `nil` for `null`.
  func mark(of upload: GraphQLUpload) -> String? {
    state.withLock { state in
      guard state.isMarking else { return nil }
      if let index = state.uploads.firstIndex(where: { $0.identity === upload.identity }) { return "\(prefix)\(index)" }
      state.uploads.append(upload)
      return "\(prefix)\(state.uploads.count - 1)"
    }
  }

  /// Finds the marks; a value that was read from JSON is not deeper than its limit.
  private func search(_ value: JSONValue, at path: [String], _ paths: inout [[String]]) {
    switch value {
    case .string(let text):
      guard text.hasPrefix(prefix), let index = Int(text.dropFirst(prefix.count)), paths.indices.contains(index)
      else { return }
      paths[index].append(path.joined(separator: "."))
    case .array(let elements):
      for (index, element) in elements.enumerated() { search(element, at: path + ["\(index)"], &paths) }
    case .object(let members):
      for (name, member) in members.sorted(by: { $0.key < $1.key }) { search(member, at: path + [name], &paths) }
    default: break
    }
  }
}

/// The body of a GraphQL request with files, and its media type.
struct GraphQLMultipart {
  let body: HTTPUpload
  let contentType: String

  /// Encodes a request in which there are files.
  init(_ request: some Encodable, by encoder: any BodyEncoder) throws {
    let (operations, uploads) = try UploadCollector.encode(request, by: encoder)
    let boundary = "moments-" + String(UInt64.random(in: .min ... .max), radix: 16)
    var body = HTTPUpload()
    func append(_ head: String) {
      body.append(Data("--\(boundary)\r\nContent-Disposition: form-data; \(head)\r\n\r\n".utf8))
    }
    append("name=\"operations\"\r\nContent-Type: application/json")
    body.append(operations)
    body.append(Data("\r\n".utf8))
    append("name=\"map\"\r\nContent-Type: application/json")
    body.append(try FileMap(paths: uploads.map(\.paths)).json())
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

/// Where the files belong, in the order of their parts: a dictionary would have `10` before `2`.
private struct FileMap: JSONEncodable {
  let paths: [[String]]

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    for (index, paths) in paths.enumerated() {
      json.writeKey("\(index)")
      json.write(paths)
    }
    json.endObject()
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
