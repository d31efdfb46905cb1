import HTTP

extension ResponseParser {
  /// A GraphQL answer by GraphQL over HTTP, section 6: `application/graphql-response+json` counts whatever the status,
  /// other JSON only with a status of success. What errors mean is the policy's to say.
  public static func graphQL<ResponseData: Decodable & Sendable>(
    _ policy: GraphQLErrorPolicy
  ) -> Self where Output == GraphQLResponse<ResponseData> {
    ResponseParser(accept: GraphQLHeaders.accept) { response, decoder in
      let mediaType = response.head.mediaType
      if mediaType != "application/graphql-response+json" { try response.requireSuccess() }
      do {
        try response.requireJSON(mediaType: mediaType)
        let envelope = try decoder.decode(GraphQLEnvelope<ResponseData>.self, from: response.body)
        return try envelope.response().applying(policy)
      } catch let error as RequestError where error.kind == .graphQL {
        throw error
      } catch {
        // A proxy may say what it likes in the Content-Type of its own error page: then the status tells more.
        try response.requireSuccess()
        throw error
      }
    }
  }
}
