import HTTPClientCore

extension HTTPResponseHead {
  /// Takes the head of a response (RFC 9113, section 8.3.2); throws if it is malformed (section 8.1.1).
  init(_ list: ReceivedFields) throws(HTTP2StreamError) {
    guard let first = list.fields.first, first.field.name == ":status" else {
      throw .malformed("the head does not begin with a status")
    }
    let digits = first.field.value.utf8
    guard digits.count == 3, digits.allSatisfy(\.isDigit), let status = Int(first.field.value), status >= 100 else {
      throw .malformed("the status does not exist")
    }
    self.init(status: status, headers: try HTTPHeaders(list.fields.dropFirst()))
  }

  /// The size of the body by `Content-Length`, if there is one.
  func contentLength() throws(HTTP2StreamError) -> Int? {
    do throws(RequestError) {
      return try BodyFraming.length(of: headers)
    } catch {
      throw .malformed("the content-length is not a number, or differs from another")
    }
  }
}

extension HTTPHeaders {
  /// Takes the trailers of a response (section 8.1); throws if they are malformed.
  init(trailers list: ReceivedFields) throws(HTTP2StreamError) {
    self = try HTTPHeaders(list.fields[...])
  }

  /// Takes fields among which no pseudo header may be: all of these come first, and are taken off.
  fileprivate init(_ list: ArraySlice<ReceivedField>) throws(HTTP2StreamError) {
    var fields: [HTTPField] = []
    fields.reserveCapacity(list.count)
    for received in list {
      // Section 8.2.1.
      guard received.isNameValid, received.isValueValid else {
        throw .malformed("a field has a name or a value that is not valid")
      }
      // Section 8.3.
      guard !received.isPseudo else { throw .malformed("a pseudo header is unknown, repeated, or behind others") }
      guard !received.field.isOfConnection else { throw .malformed("a field is about a connection of HTTP/1") }
      fields.append(received.field)
    }
    self.init(fields)
  }
}

extension HTTPField {
  /// Whether a response must not have it (section 8.2.2). The name is in lower case.
  fileprivate var isOfConnection: Bool {
    switch name.utf8.count {
    case 7: name == "upgrade"
    case 10: name == "connection" || name == "keep-alive"
    case 16: name == "proxy-connection"
    case 17: name == "transfer-encoding"
    default: false
    }
  }
}
