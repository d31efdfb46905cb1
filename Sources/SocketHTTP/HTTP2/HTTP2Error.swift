import HTTPClientCore

/// Why a stream or a connection ends (RFC 9113, section 7).
struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt32

  static let noError = Self(rawValue: 0)
  static let protocolError = Self(rawValue: 1)
  static let internalError = Self(rawValue: 2)
  static let flowControlError = Self(rawValue: 3)
  static let settingsTimeout = Self(rawValue: 4)
  static let streamClosed = Self(rawValue: 5)
  static let frameSizeError = Self(rawValue: 6)
  static let refusedStream = Self(rawValue: 7)
  static let cancel = Self(rawValue: 8)
  static let compressionError = Self(rawValue: 9)
  static let connectError = Self(rawValue: 10)
  static let enhanceYourCalm = Self(rawValue: 11)
  static let inadequateSecurity = Self(rawValue: 12)
  static let http11Required = Self(rawValue: 13)

  fileprivate static let names = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]
}

extension HTTP2ErrorCode: CustomStringConvertible {
  /// The name in the RFC, or the number.
  var description: String { rawValue < Self.names.count ? Self.names[Int(rawValue)] : "code \(rawValue)" }
}

/// An error after which a connection is of no use any more (RFC 9113, section 5.4.1).
struct HTTP2ConnectionError: Error, Hashable {
  let code: HTTP2ErrorCode
  /// What the server did, for people: the predicate of a sentence about it.
  let reason: String

  init(_ code: HTTP2ErrorCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  static func protocolError(_ reason: String) -> Self { Self(.protocolError, reason) }
  static func frameSize(_ reason: String) -> Self { Self(.frameSizeError, reason) }
  static func flowControl(_ reason: String) -> Self { Self(.flowControlError, reason) }
  static func compression(_ reason: String) -> Self { Self(.compressionError, reason) }
  static func flood(_ reason: String) -> Self { Self(.enhanceYourCalm, reason) }

  /// The error that observers get.
  var error: RequestError {
    RequestError(.badResponse, "The server does not speak valid HTTP/2 (\(code)): \(reason).")
  }
}

/// An error that ends one stream (RFC 9113, section 5.4.2).
struct HTTP2StreamError: Error, Hashable {
  let code: HTTP2ErrorCode
  let reason: String

  init(_ code: HTTP2ErrorCode, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  /// A message that is malformed (section 8.1.1).
  static func malformed(_ reason: String) -> Self { Self(.protocolError, reason) }
}
