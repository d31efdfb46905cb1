import HTTP

/// The header fields of all requests, validated once.
enum GraphQLHeaders {
  private static let acceptedTypes: StaticString = "application/graphql-response+json, application/json;q=0.9"
  static let accept = "\(acceptedTypes)"
  static let ofGet: HTTPHeaders = ["Accept": acceptedTypes]
  static let ofPost: HTTPHeaders = ["Accept": acceptedTypes, "Content-Type": "application/json"]
}
