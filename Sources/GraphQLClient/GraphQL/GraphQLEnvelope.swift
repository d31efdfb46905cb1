import HTTPClientCore
import StrictJSON
import SystemBase

/// The members of a response as received, by the one reader of GraphQL's wire format: whatever decoder reads `data`, it
/// gets the text of that alone.
///
/// Members come in any order; of equal ones the last counts. The type does not depend on that of `data`: in code that is
/// not specialised, the runtime would look it up at each use.
struct GraphQLEnvelope {
  /// Why data that was sent could not be decoded, which is an error only if the server sent no errors itself.
  private(set) var failure: DecodingFailure?
  private(set) var errors: [GraphQLError] = []
  private(set) var extensions: JSONValue?

  /// Reads a body, and its `data`: nil if they are null or cannot be decoded. Throws a `JSONError` if it is not JSON,
  /// or no response.
  init<ResponseData: Decodable & Sendable>(
    _ body: Data, data: inout ResponseData?, by decoder: any BodyDecoder
  ) throws(JSONError) {
    try JSONReader.reading(body.bytes) { (json: inout JSONReader) throws(JSONError) in
      try read(from: &json, data: &data, by: decoder)
    }
  }

  private mutating func read<ResponseData: Decodable & Sendable>(
    from json: inout JSONReader, data: inout ResponseData?, by decoder: any BodyDecoder
  ) throws(JSONError) {
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "data") {
        try readData(from: &json, into: &data, by: decoder)
      } else if json.key(is: "errors") {
        errors = try json.read(FirstErrors?.self)?.errors ?? []
      } else if json.key(is: "extensions") {
        // As values they take about 40 times as much memory as their text.
        extensions = try json.skipValue(over: 256 << 10) ? nil : try json.read()
      } else {
        try json.skipValue()
      }
    }
  }

  private mutating func readData<ResponseData: Decodable & Sendable>(
    from json: inout JSONReader, into data: inout ResponseData?, by decoder: any BodyDecoder
  ) throws(JSONError) {
    var error: (any Error)?
    if let coder = decoder as? JSONCoder {
      error = try coder.read(orSkipInto: &data, from: &json)
    } else {
      data = nil
      if try !json.readNull() {
        let text = Data(try json.readRaw().bytes)
        do { data = try decoder.decode(orKeepAs: ResponseData.self, from: text) } catch let reason { error = reason }
      }
    }
    failure = error.map { error in
      (error as? JSONError).map { DecodingFailure($0) } ?? DecodingFailure(error).inside("data")
    }
  }
}

extension GraphQLResponse where ResponseData: Decodable {
  /// Reads a body, as the policy treats its errors. Data that cannot be decoded fail with the server's errors, or if there
  /// are none, with the reason.
  init(reading body: Data, by decoder: any BodyDecoder, _ policy: GraphQLErrorPolicy) throws {
    var data: ResponseData?
    let envelope = try GraphQLEnvelope(body, data: &data, by: decoder)
    if let failure = envelope.failure {
      throw envelope.errors.isEmpty ? failure : RequestError(graphQL: envelope.errors, besideData: true) as any Error
    }
    try self.init(data: data, errors: envelope.errors, extensions: envelope.extensions, policy: policy)
  }
}

/// The first 100 errors of a list of any length.
struct FirstErrors: JSONDecodable {
  private static let limit = 100
  private(set) var errors: [GraphQLError] = []

  init(from json: inout JSONReader) throws(JSONError) {
    try json.beginArray()
    while try json.nextElement() {
      if errors.count < Self.limit {
        errors.append(try json.read())
      } else {
        try json.skipValue()
      }
    }
  }
}

extension ResponseParser {
  /// A GraphQL response, by GraphQL over HTTP, section 6: `application/graphql-response+json` is read whatever the
  /// status, other JSON only if the status is a success; the errors in other JSON are those of the failure, as its
  /// `RequestError.graphQLErrors`. The policy decides how errors beside data are treated, here and nowhere else.
  ///
  /// Where `Content-Type` is missing or empty, the body counts as `application/json`: RFC 9110, section 8.3, leaves it
  /// to the receiver to find out. Any other type, `text/plain` too, is `undecodable`: by GraphQL over HTTP, a server
  /// has to name one of the two, and what names another is often no GraphQL server.
  public static func graphQL<ResponseData: Decodable & Sendable>(
    _ policy: GraphQLErrorPolicy
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    ResponseParser(accept: GraphQLHeaders.accept) { (response, decoder, sent: SentFields?) in
      let output = try response.readGraphQL { try GraphQLResponse<ResponseData>(reading: $0, by: decoder, policy) }
      return output.errors.isEmpty ? output : sent?.described(output) ?? output
    }
  }
}

extension HTTPResponse {
  /// Reads the body of a GraphQL response by the rules for status and media type.
  func readGraphQL<Output>(_ read: (Data) throws -> Output) throws -> Output {
    let mediaType = head.mediaType
    if mediaType != "application/graphql-response+json" {
      do throws(RequestError) {
        try requireSuccess()
      } catch {
        throw error.telling(of: self)
      }
    }
    do {
      try requireJSON(mediaType: mediaType)
      return try read(body)
    } catch let error as RequestError where error.kind == .graphQL {
      throw error
    } catch {
      // A proxy may put any Content-Type on its own error page: then the status says more.
      try requireSuccess()
      throw error
    }
  }
}

extension RequestError {
  /// The failure of a status, with the GraphQL errors in the response's body, if there are any.
  fileprivate func telling(of response: HTTPResponse) -> RequestError {
    var data: NoContent?
    guard (try? response.requireJSON()) != nil,
      let envelope = try? GraphQLEnvelope(response.body, data: &data, by: JSONCoder()), !envelope.errors.isEmpty
    else { return self }
    var error = self
    error.cause = GraphQLErrors(envelope.errors)
    // With data beside them something was carried out, unless the status itself says that nothing was.
    if data != nil || envelope.failure != nil { error.reached = reached }
    return error
  }
}
