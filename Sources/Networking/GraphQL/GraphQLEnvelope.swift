import HTTP
import JSON

/// The members of a response as received: data that cannot be decoded is an error only if the server sent no errors
/// itself.
struct GraphQLEnvelope<ResponseData: Decodable & Sendable> {
  let data: ResponseData?
  /// Why data that was sent could not be decoded.
  let failure: (any Error)?
  let errors: [GraphQLError]
  let extensions: JSONValue?

  /// The response. If its data could not be decoded, throws the server's errors, or if there are none, the reason.
  consuming func response() throws -> GraphQLResponse<ResponseData> {
    if let failure { throw errors.isEmpty ? failure : RequestError(graphQL: errors) }
    return GraphQLResponse(data: data, errors: errors, extensions: extensions)
  }
}

extension GraphQLEnvelope: Decodable {
  private enum CodingKeys: String, CodingKey {
    case data, errors, extensions
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    do {
      (data, failure) = (try container.decodeIfPresent(ResponseData.self, forKey: .data), nil)
    } catch {
      (data, failure) = (nil, error)
    }
    errors = try container.decodeIfPresent(FirstErrors.self, forKey: .errors)?.errors ?? []
    extensions = try container.decodeIfPresent(BoundedExtensions.self, forKey: .extensions)?.value
  }
}

extension GraphQLEnvelope: JSONDecodable where ResponseData: JSONDecodable {
  /// Reads the members in one pass, in any order.
  init(from json: inout JSONReader) throws(JSONError) {
    var data: ResponseData?
    var failure: JSONError?
    var errors: FirstErrors?
    var extensions: JSONValue?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "data") {
        failure = try json.read(orSkipInto: &data)
      } else if json.key(is: "errors") {
        errors = try json.read()
      } else if json.key(is: "extensions") {
        extensions = try json.read(BoundedExtensions.self).value
      } else {
        try json.skipValue()
      }
    }
    self.init(data: data, failure: failure, errors: errors?.errors ?? [], extensions: extensions)
  }
}

/// The first 100 errors of a list of any length.
struct FirstErrors: Decodable, JSONDecodable {
  private static let limit = 100
  var errors: [GraphQLError] = []

  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd, errors.count < Self.limit {
      errors.append(try container.decode(GraphQLError.self))
    }
  }

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

/// A value whose text takes at most 256 KiB; as values it takes about 40 times as much memory. Foundation's decoder
/// does not tell the size of the text, so there the value is always read.
private struct BoundedExtensions: Decodable, JSONDecodable {
  private static let limit = 256 << 10
  let value: JSONValue?

  init(from decoder: any Decoder) throws {
    value = try JSONValue(from: decoder)
  }

  init(from json: inout JSONReader) throws(JSONError) {
    value = try json.skipValue(over: Self.limit) ? nil : try json.read()
  }
}

extension ResponseParser {
  /// A GraphQL response, by GraphQL over HTTP, section 6: `application/graphql-response+json` is read whatever the
  /// status, other JSON only if the status is a success; the errors in other JSON are those of the failure, as its
  /// `RequestError.graphQLErrors`. The policy decides how errors are treated.
  ///
  /// Where `Content-Type` is missing or empty, the body counts as `application/json`: RFC 9110, section 8.3, leaves it
  /// to the receiver to find out. Any other type, `text/plain` too, is `undecodable`: by GraphQL over HTTP, a server
  /// has to name one of the two, and what names another is often no GraphQL server.
  public static func graphQL<ResponseData: Decodable & Sendable>(
    _ policy: GraphQLErrorPolicy
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    ResponseParser(accept: GraphQLHeaders.accept) { response, decoder in
      let mediaType = response.head.mediaType
      if mediaType != "application/graphql-response+json" {
        do throws(RequestError) {
          try response.requireSuccess()
        } catch {
          throw error.telling(of: response, by: decoder)
        }
      }
      do {
        try response.requireJSON(mediaType: mediaType)
        let envelope = try decoder.decode(GraphQLEnvelope<ResponseData>.self, from: response.body)
        return try envelope.response().applying(policy)
      } catch let error as RequestError where error.kind == .graphQL {
        throw error
      } catch {
        // A proxy may put any Content-Type on its own error page: then the status says more.
        try response.requireSuccess()
        throw error
      }
    }
  }
}

extension RequestError {
  /// The failure of a status, with the GraphQL errors in the response's body, if there are any.
  fileprivate func telling(of response: HTTPResponse, by decoder: any BodyDecoder) -> RequestError {
    guard (try? response.requireJSON()) != nil,
      let envelope = try? decoder.decode(GraphQLEnvelope<NoContent>.self, from: response.body),
      !envelope.errors.isEmpty
    else { return self }
    var error = self
    error.cause = GraphQLErrors(envelope.errors)
    return error
  }
}
