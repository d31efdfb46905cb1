import HTTPClientCore

/// The head of a request in HTTP/2 (RFC 9113, section 8.3.1).
struct HTTP2RequestHead {
  var method: String
  var scheme: String
  /// The host and the port, which the field `Host` says in HTTP/1.
  var authority: String
  var path: String
  /// The protocol of an extended CONNECT (RFC 8441, section 4), such as `websocket`.
  var connectProtocol: String?
  var headers: HTTPHeaders
  /// Fields that are added unless the headers already have one with that name.
  var defaults: [(name: String, value: String)] = []
  /// The size of the body; `nil` leaves `content-length` out.
  var contentLength: Int?

  /// Takes a request that is writable, see `HTTPRequest.checkWritable`.
  init(_ request: HTTPRequest, defaults: [(name: String, value: String)] = []) {
    method = request.method.rawValue
    scheme = request.target.isSecure ? "https" : "http"
    authority = request.headers["Host"] ?? request.target.authority
    path = request.target.path
    headers = request.headers
    self.defaults = defaults
    contentLength = request.announcedCount
  }

  /// A request for a tunnel, in which another protocol is spoken (RFC 8441, section 4).
  init(connecting connectProtocol: String, to target: HTTPTarget, headers: HTTPHeaders) {
    method = "CONNECT"
    scheme = target.isSecure ? "https" : "http"
    authority = headers["Host"] ?? target.authority
    path = target.path
    self.connectProtocol = connectProtocol
    self.headers = headers
  }

  var isHead: Bool { method == "HEAD" }
  var isConnect: Bool { method == "CONNECT" }

  /// The size of the list of fields, as the server limits it (RFC 9113, section 6.5.2): each counts as 32 bytes more than
  /// its name and its value.
  var listSize: Int {
    var size = 0
    func add(_ name: Int, _ value: String) { size += name + value.utf8.count + HPACK.overhead }
    for (name, value) in [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)] {
      add(name.utf8.count, value)
    }
    if let connectProtocol { add(":protocol".utf8.count, connectProtocol) }
    for field in headers where !field.isConnectionSpecific { add(field.name.utf8.count, field.value) }
    for (name, value) in defaults where !headers.contains(name) { add(name.utf8.count, value) }
    if let contentLength { add("content-length".utf8.count, String(contentLength)) }
    return size
  }

  /// Whether the path has a query, whose values may be secret.
  private var hasQuery: Bool { path.withUTF8Bytes { $0.firstIndex(of: UInt8(ascii: "?"), from: 0) != nil } }

  /// Whether it differs from another in the size of the body alone.
  func isLike(_ other: HTTP2RequestHead) -> Bool {
    method == other.method && scheme == other.scheme && authority == other.authority && path == other.path
      && connectProtocol == other.connectProtocol && headers == other.headers
      && defaults.elementsEqual(other.defaults) { $0.name == $1.name && $0.value == $1.value }
  }

  /// Appends the block of fields, but for the size of the body. A cookie is not split (section 8.2.3): as a secret it is in
  /// no table anyway.
  func encode(with encoder: inout HPACKEncoder, _ paths: inout RecentPaths, into block: inout [UInt8]) {
    encoder.begin(&block)
    encoder.encode(":method", method, .incremental, &block)
    encoder.encode(":scheme", scheme, .incremental, &block)
    encoder.encode(":authority", authority, .incremental, &block)
    encoder.encode(":path", path, hasQuery ? .never : paths.contain(path) ? .incremental : .without, &block)
    if let connectProtocol { encoder.encode(":protocol", connectProtocol, .incremental, &block) }
    for index in headers.indices { encoder.encode(headers[index], &block) }
    for (name, value) in defaults where !headers.contains(name) {
      encoder.encode(HTTPField(trimmedName: name, value: value), &block)
    }
  }

  /// Appends the size of the body, which ends the block.
  func encodeLength(with encoder: inout HPACKEncoder, into block: inout [UInt8]) {
    if let contentLength { encoder.encode("content-length", String(contentLength), .without, &block) }
  }
}

/// Encodes the heads of a connection's requests. Many are like the one before, and so are their bytes.
struct RequestHeadEncoder {
  /// The block of the latest head.
  private(set) var block: [UInt8] = []
  private var encoder = HPACKEncoder()
  /// That head, and the size of its block without what differs; `nil` if it has changed the table.
  private var last: (head: HTTP2RequestHead, changeCount: Int, size: Int)?
  private var paths = RecentPaths()

  mutating func setTableLimit(_ limit: Int) { encoder.setTableLimit(limit) }

  /// Encodes a head into `block`.
  mutating func encode(_ head: HTTP2RequestHead) {
    if let last, last.changeCount == encoder.changeCount, head.isLike(last.head) {
      block.removeLast(block.count - last.size)
    } else {
      let (changeCount, pathCount) = (encoder.changeCount, paths.count)
      block.removeAll(keepingCapacity: true)
      head.encode(with: &encoder, &paths, into: &block)
      last = encoder.changeCount == changeCount && paths.count == pathCount ? (head, changeCount, block.count) : nil
    }
    head.encodeLength(with: &encoder, into: &block)
  }
}

/// The paths of the latest requests that are in no table. One goes there the second time: what is sent once, such as the path
/// of an object, or a link that is a secret, would push out what is sent always.
struct RecentPaths {
  private var latest: [String] = []
  /// How many there have been.
  private(set) var count = 0

  private static let most = 8

  /// Whether a path is among them; it is from now on.
  mutating func contain(_ path: String) -> Bool {
    if latest.contains(path) { return true }
    if latest.count == Self.most { latest.removeFirst() }
    latest.append(path)
    count += 1
    return false
  }
}

extension HPACKEncoder {
  fileprivate mutating func encode(
    _ name: StaticString, _ value: String, _ indexing: @autoclosure () -> Indexing, _ block: inout [UInt8]
  ) {
    name.withUTF8Buffer { name in
      value.withUTF8Bytes { value in encode(UnsafeRawBufferPointer(name), value, to: &block, indexing: indexing) }
    }
  }

  /// Encodes a field under its name in lower case, unless HTTP/2 has no such field.
  fileprivate mutating func encode(_ field: HTTPField, _ block: inout [UInt8]) {
    if field.isConnectionSpecific { return }
    field.name.withUTF8Bytes { name in
      field.value.withUTF8Bytes { value in
        withUnsafeTemporaryAllocation(byteCount: name.count, alignment: 1) { lowerCased in
          for index in name.indices {
            let byte = name[index]
            lowerCased[index] = byte.isUpperCase ? byte | 0x20 : byte
          }
          encode(UnsafeRawBufferPointer(lowerCased), value, to: &block) { field.indexing }
        }
      }
    }
  }
}

extension HTTPField {
  /// Whether it is about a connection of HTTP/1, and must not be sent (RFC 9113, section 8.2.2); `Host` is sent as
  /// `:authority`.
  fileprivate var isConnectionSpecific: Bool {
    switch name.utf8.count {
    case 2: hasName("TE") && value.lowercased() != "trailers"
    case 4: hasName("Host")
    case 7: hasName("Upgrade")
    case 10: hasName("Connection") || hasName("Keep-Alive")
    case 14: hasName("HTTP2-Settings")
    case 16: hasName("Proxy-Connection")
    case 17: hasName("Transfer-Encoding")
    default: false
    }
  }

  /// What is not known to be public may be a secret: `Authorization`, `Cookie`, and names of the caller's own.
  fileprivate var indexing: HPACKEncoder.Indexing {
    guard isPublic else { return .never }
    return hasName("traceparent") || hasName("Content-Length") ? .without : .incremental
  }
}

extension String {
  /// Calls a closure with the bytes of the text.
  fileprivate func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let result = utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
    return result ?? Array(utf8).withUnsafeBytes(body)
  }
}
