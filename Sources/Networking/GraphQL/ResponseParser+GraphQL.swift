import HTTP

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
