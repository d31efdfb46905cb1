import HTTP

/// The fields of all requests, which are checked once.
enum GraphQLHeaders {
  private static let acceptedTypes: StaticString = "application/graphql-response+json, application/json;q=0.9"
  static let accept = "\(acceptedTypes)"
  static let ofGet: HTTPHeaders = ["Accept": acceptedTypes]
  static let ofPost: HTTPHeaders = ["Accept": acceptedTypes, "Content-Type": "application/json"]
}
