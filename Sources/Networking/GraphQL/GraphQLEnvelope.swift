import HTTP
import JSON

/// The members of an answer as they came: data that does not fit is an error only where the errors leave it to count.
struct GraphQLEnvelope<ResponseData: Decodable & Sendable>: Decodable {
  let data: Result<ResponseData?, any Error>
  let errors: [GraphQLError]
  let extensions: JSONValue?

  private enum CodingKeys: String, CodingKey {
    case data, errors, extensions
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    data = Result { try container.decodeIfPresent(ResponseData.self, forKey: .data) }
    errors = try container.decodeIfPresent(FirstErrors.self, forKey: .errors)?.errors ?? []
    extensions = try container.decodeIfPresent(JSONValue.self, forKey: .extensions)
  }

  /// The answer; throws what made its data unreadable, unless the server's own errors tell more.
  func response() throws -> GraphQLResponse<ResponseData> {
    if case .failure = data, !errors.isEmpty { throw RequestError(graphQL: errors) }
    return GraphQLResponse(data: try data.get(), errors: errors, extensions: extensions)
  }

  /// The first 100 errors of a list of any length.
  private struct FirstErrors: Decodable {
    var errors: [GraphQLError] = []

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd, errors.count < 100 {
        errors.append(try container.decode(GraphQLError.self))
      }
    }
  }
}
