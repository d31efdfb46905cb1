import GraphQLClient
import HTTPClientCore
import StrictJSON
import SystemBase

/// A body in the form in which people can best read it.
enum RecordedBody: Hashable, Sendable {
  case none
  case json(RecordedJSON)
  /// A GraphQL request, or several in an array: as JSON, but with the lines of the document one below the other.
  case graphQL(RecordedJSON)
  /// The fields of a form.
  case form([RecordedParameter])
  case text(String)
  /// The events of an event stream, or the parts of a multipart response.
  case parts([String])
  /// Anything else, with the extension of its file's name.
  case bytes(Data, fileExtension: String)
  /// The name of a file beside the cassette. It is in no exchange that a cassette holds.
  case file(String)
  /// An upload, whose bytes are not recorded.
  case upload

  /// The body of a request without its secrets.
  init(of request: HTTPRequest, by finder: inout SecretFinder) {
    guard request.upload == nil else {
      self = .upload
      return
    }
    let head = HTTPResponseHead(status: 200, headers: request.headers)
    let body = RecordedBody(request.body ?? Data(), head)
    body.checkReadable(head, by: &finder)
    switch body {
    case .json(let json):
      // Encoders may write members in any order.
      let json = finder.redact(json, isDecoded: false).sorted
      self = json.isGraphQL ? .graphQL(json) : .json(json)
    case let body: self = body.redacted(by: &finder)
    }
  }

  /// The body of a response without its secrets; `isSecret` if it is one as a whole.
  init(of response: HTTPResponse, isSecret: Bool, by finder: inout SecretFinder) {
    let body = RecordedBody(response.body, response.head)
    if !isSecret { body.checkReadable(response.head, by: &finder) }
    switch body {
    case .none: self = .none
    case .json(let json) where isSecret: self = .json(finder.redactSecretResponse(json))
    case let body where isSecret:
      finder.add(String(decoding: body.data, as: UTF8.self), from: "a response that its session declares secret")
      self = .text(Redactor.placeholder)
    case let body: self = body.redacted(by: &finder)
    }
  }

  private init(_ body: Data, _ head: HTTPResponseHead) {
    let type = head.mediaType
    guard !body.isEmpty else {
      self = .none
      return
    }
    guard let text = String(cut: body), !text.utf8.contains(0) else {
      self = .bytes(body, fileExtension: Self.fileExtension(of: type))
      return
    }
    self = .text(text)
    if type == nil || head.isJSON || text.first == "{", let json = RecordedJSON(text) {
      self = .json(json)
    } else if type == "application/x-www-form-urlencoded" {
      self = .form(RecordedParameter.all(in: text))
    } else if type == "text/event-stream" {
      self = .parts(text.split(behind: text.utf8.contains(UInt8(ascii: "\r")) ? "\r\n\r\n" : "\n\n"))
    } else if head.isEndless, let boundary = head.multipartBoundary {
      self = .parts(text.split(before: "\r\n--\(boundary)"))
    }
  }

  /// Refuses bytes that are no text where there should be one, and others in which a secret stands.
  private func checkReadable(_ head: HTTPResponseHead, by finder: inout SecretFinder) {
    guard case .bytes(let bytes, _) = self else { return }
    let type = head.mediaType
    if head.isJSON || head.isEndless || type == "application/x-www-form-urlencoded" {
      finder.refuse("it is no text in UTF-8, though its type is '\(type ?? "")'")
    } else if finder.findsNames(in: bytes) {
      finder.refuse("it is no text, and holds the name of a secret")
    }
  }

  private func redacted(by finder: inout SecretFinder) -> RecordedBody {
    switch self {
    case .json(let json): .json(finder.redact(json, isDecoded: true))
    case .form(let fields): .form(fields.map { $0.redacted(by: &finder) })
    case .text(let text): .text(finder.redact(lines: text, isDecoded: true))
    case .parts(let parts): .parts(parts.map { finder.redact(lines: $0, isDecoded: true) })
    case .none, .graphQL, .bytes, .file, .upload: self
    }
  }

  /// The bytes: of JSON, the shortest text.
  var data: Data {
    switch self {
    case .none, .upload, .file: Data()
    case .json(let json), .graphQL(let json): Data(json.text.utf8)
    case .form(let fields): Data(RecordedParameter.text(of: fields).utf8)
    case .text(let text): Data(text.utf8)
    case .parts(let parts): Data(parts.joined().utf8)
    case .bytes(let bytes, _): bytes
    }
  }

  /// The pieces in which a response's body is replayed.
  var pieces: [Data] {
    guard case .parts(let parts) = self else { return data.isEmpty ? [] : [data] }
    return parts.map { Data($0.utf8) }
  }

  /// Where the body of a request differs from this recorded one.
  func differences(from requested: RecordedBody) -> [String] {
    switch (self, requested) {
    case (.json(let recorded), .json(let requested)), (.graphQL(let recorded), .graphQL(let requested)):
      recorded.differences(from: requested, at: "body")
    case (.form(let recorded), .form(let requested)):
      RecordedParameter.differences(of: recorded, from: requested, as: "field")
    case _ where self == requested: []
    case (.text(let recorded), .text(let requested)): ["body: differs in line \(recorded.firstLine(unlike: requested))"]
    default: ["body: recorded \(shown), requested \(requested.shown)"]
    }
  }

  private var shown: String {
    switch self {
    case .none: "none"
    case .json: "JSON"
    case .graphQL: "GraphQL"
    case .form: "a form"
    case .text, .parts: "a text of \(data.count) bytes"
    case .bytes, .file: "\(data.count) bytes"
    case .upload: "an upload"
    }
  }
}

extension RecordedBody {
  private static let fileExtensions = [
    "application/json": "json", "application/pdf": "pdf", "application/xml": "xml", "application/zip": "zip",
    "image/gif": "gif", "image/jpeg": "jpg", "image/png": "png", "image/svg+xml": "svg", "image/webp": "webp",
    "text/html": "html", "text/xml": "xml",
  ]

  private static func fileExtension(of type: String?) -> String { type.flatMap { fileExtensions[$0] } ?? "bin" }

  /// The body as a file beside the cassette, and in its place the file's name; `nil` if it stands in the cassette.
  func asFile(over limit: Int) -> (name: String, contents: Data)? {
    let contents: Data
    let fileExtension: String
    switch self {
    case .bytes(let bytes, let own): (contents, fileExtension) = (bytes, own)
    case .json(let json) where json.text.utf8.count > limit:
      guard let raw = try? RawJSON(json) else { return nil }
      (contents, fileExtension) = (Data(raw.indented.utf8), "json")
    case .text(let text) where text.utf8.count > limit: (contents, fileExtension) = (Data(text.utf8), "txt")
    default: return nil
    }
    return ("\(SHA256.hexadecimal(of: contents)).\(fileExtension)", contents)
  }

  /// The body that a file beside the cassette holds; `nil` if its name is not that of these contents.
  init?(file name: String, contents: Data) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == SHA256.hexadecimal(of: contents) else { return nil }
    let text = String(validating: contents, as: UTF8.self)
    switch parts[1] {
    case "json": self = text.flatMap { RecordedJSON($0) }.map { .json($0) } ?? .bytes(contents, fileExtension: "json")
    case "txt": self = text.map { .text($0) } ?? .bytes(contents, fileExtension: "txt")
    default: self = .bytes(contents, fileExtension: String(parts[1]))
    }
  }

  /// Whether this is the name of a file beside a cassette: a hash and an extension, so that it leads nowhere else.
  static func isFileName(_ name: String) -> Bool {
    name.wholeMatch(of: /[0-9a-f]{64}\.[a-z]{1,8}/) != nil
  }
}

extension RecordedBody: JSONDecodable, JSONEncodable {
  init(from json: inout JSONReader) throws(JSONError) {
    var body: RecordedBody?
    try json.beginObject()
    while try json.nextKey() {
      guard body == nil else { throw json.mismatch("one form of a body") }
      switch json.key {
      case "json": body = .json(try json.read())
      case "graphQL": body = .graphQL(try json.read(RecordedJSON.self).joiningDocuments)
      case "form": body = .form(try json.read())
      case "text": body = .text(try json.readLines())
      case "parts":
        var parts: [String] = []
        try json.beginArray()
        while try json.nextElement() { parts.append(try json.readLines()) }
        body = .parts(parts)
      case "file":
        let name = try json.readString()
        guard Self.isFileName(name) else {
          throw json.invalid("the name of a file beside the cassette: HASH.EXTENSION")
        }
        body = .file(name)
      case "upload":
        guard try json.readBool() else { throw json.invalid("true") }
        body = .upload
      default: throw json.mismatch("one of 'json', 'graphQL', 'form', 'text', 'parts', 'file' and 'upload'")
      }
    }
    guard let body else { throw json.invalid("a form of a body, such as 'json' or 'text'") }
    self = body
  }

  func encode(to json: inout JSONWriter) {
    json.beginObject()
    switch self {
    case .none: break
    case .json(let value): json.write("json", value)
    case .graphQL(let value): json.write("graphQL", value.splittingDocuments)
    case .form(let fields): json.write("form", fields)
    case .text(let text):
      json.writeKey("text")
      json.writeLines(text)
    case .parts(let parts):
      json.writeKey("parts")
      json.beginArray()
      for part in parts { json.writeLines(part) }
      json.endArray()
    case .file(let name): json.write("file", name)
    case .bytes: json.write("file", ifPresent: asFile(over: 0)?.name)
    case .upload: json.write("upload", true)
    }
    json.endObject()
  }
}

extension RecordedJSON {
  /// Whether it is a GraphQL request with a document, or an array of such.
  fileprivate var isGraphQL: Bool {
    switch self {
    case .array(let elements): !elements.isEmpty && elements.allSatisfy { $0.hasDocument }
    default: hasDocument
    }
  }

  private var hasDocument: Bool { if case .string? = self["query"] { true } else { false } }

  /// The value with each document as an array of lines, if it has several.
  fileprivate var splittingDocuments: RecordedJSON {
    mappingDocuments { document in
      guard case .string(let text) = document, text.lines.count > 1 else { return document }
      return .array(text.lines.map { .string($0) })
    }
  }

  fileprivate var joiningDocuments: RecordedJSON {
    mappingDocuments { document in
      guard case .array(let lines) = document else { return document }
      return .string(lines.map { if case .string(let line) = $0 { line } else { $0.text } }.joined(separator: "\n"))
    }
  }

  private func mappingDocuments(_ map: (RecordedJSON) -> RecordedJSON) -> RecordedJSON {
    switch self {
    case .array(let elements): .array(elements.map { $0.mappingDocuments(map) })
    case .object(let members):
      .object(members.map { Member(key: $0.key, value: $0.key == "query" ? map($0.value) : $0.value) })
    case .string, .scalar: self
    }
  }
}

extension JSONReader {
  /// Reads a text: a string, or an array with its lines.
  mutating func readLines() throws(JSONError) -> String {
    guard try nextKind() == .array else { return try readString() }
    let lines: [String] = try read()
    return lines.joined(separator: "\n")
  }
}

extension JSONWriter {
  /// Writes a text so that each line stands on its own.
  mutating func writeLines(_ text: String) {
    let lines = text.lines
    if lines.count > 1 { write(lines) } else { writeString(text) }
  }
}

extension String {
  /// A text in UTF-8, of which the last character may be cut; `nil` for other bytes.
  fileprivate init?(cut bytes: Data) {
    if let text = String(validating: bytes, as: UTF8.self) {
      self = text
      return
    }
    // What is missing of a character is at most three bytes; the replacement says that it was cut.
    for count in 1...Swift.min(3, bytes.count) {
      guard let text = String(validating: bytes.dropLast(count), as: UTF8.self) else { continue }
      guard bytes.suffix(count).first.map({ (0xC2...0xF4).contains($0) }) ?? false else { return nil }
      self = text + "\u{FFFD}"
      return
    }
    return nil
  }

  /// The lines, without the line feeds between them. A carriage return before one stays: no character is lost.
  var lines: [String] {
    utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// The number of the first line, from 1, that differs from that of another text.
  fileprivate func firstLine(unlike other: String) -> Int {
    1 + (zip(lines, other.lines).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, other.lines.count))
  }

  /// The text in pieces that end with `separator`, but for the last one.
  fileprivate func split(behind separator: String) -> [String] {
    let bytes = Array(utf8)
    return pieces(of: bytes, at: bytes.ranges(of: Array(separator.utf8)).map(\.upperBound))
  }

  /// The text in pieces that begin with `separator`, but for the first one.
  fileprivate func split(before separator: String) -> [String] {
    let bytes = Array(utf8)
    return pieces(of: bytes, at: bytes.ranges(of: Array(separator.utf8)).map(\.lowerBound))
  }

  private func pieces(of bytes: [UInt8], at places: [Int]) -> [String] {
    zip([0] + places, places + [bytes.count]).filter { $0 < $1 }.map { String(decoding: bytes[$0..<$1], as: UTF8.self) }
  }
}
