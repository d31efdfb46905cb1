import HTTP

/// The fields of all requests, which are checked once.
enum GraphQLHeaders {
  static let accept = "application/graphql-response+json, application/json;q=0.9"
  static let ofGet: HTTPHeaders = ["Accept": "application/graphql-response+json, application/json;q=0.9"]
  static let ofPost: HTTPHeaders = [
    "Accept": "application/graphql-response+json, application/json;q=0.9", "Content-Type": "application/json",
  ]
}
