import HTTPClientCore
import SystemBase

/// The part of a request that is still to be written.
struct Outbound {
  private var first: [UInt8] = []
  private var rest = Data()
  private var upload: HTTPUploadReader?
  private var position = 0
  /// What frames the upload.
  private var framingCount = 0

  init() {}

  /// Takes the head, possibly with the body joined to it, and otherwise the body or an upload.
  init(_ first: [UInt8], _ rest: Data = Data(), _ upload: HTTPUploadReader? = nil) {
    self.first = first
    self.rest = rest
    self.upload = upload
  }

  var isEmpty: Bool { position >= bodyStart && upload?.isAtEnd ?? true }

  /// Whether an upload had nothing to write yet, and not the socket no room.
  var isWaiting: Bool { upload?.isWaiting ?? false }

  /// How many bytes have been written, without what frames an upload.
  var writtenCount: Int { position - framingCount }

  /// Where an upload begins.
  private var bodyStart: Int { first.count + rest.count }

  /// Calls a closure with the next bytes, in two consecutive pieces either of which may be empty; the second has at
  /// most 64 KiB. Fails if an upload cannot be read, or has changed.
  func withNext(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> WriteOutcome) -> WriteOutcome {
    // With its head, a server has a request without a body as a whole: not before it is certain that it has none.
    if let upload, position >= bodyStart || upload.isAnnouncedEmpty && !upload.isAtEnd {
      do throws(RequestError) {
        switch try upload.withNext(body) {
        case .lent(let outcome): return outcome
        case .waiting: return .blocked
        case .end: return .taken(0)
        }
      } catch {
        return .failed(error)
      }
    }
    return first.withUnsafeBytes { first in
      rest.withUnsafeBytes { rest in
        body(
          UnsafeRawBufferPointer(rebasing: first[min(position, first.count)...]),
          UnsafeRawBufferPointer(rebasing: rest[max(position - first.count, 0)...].prefix(64 << 10)))
      }
    }
  }

  mutating func advance(by count: Int) {
    if let upload, position >= bodyStart { framingCount += count - upload.advance(by: count) }
    position += count
  }
}
