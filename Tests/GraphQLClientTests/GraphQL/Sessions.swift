import Foundation
import GraphQLClient
import GraphQLClientTesting
import HTTPClientCore
import StrictJSON

/// A query with everything left as it is unless set.
struct GetThing: GraphQLSession {
  struct ResponseData: Decodable, Hashable, Sendable {
    struct Thing: Decodable, Hashable, Sendable {
      var name: String
      var count: Int?
    }
    var thing: Thing?
  }

  static let query: GraphQLDocument = "query getThing { thing { name count } }"
  var errorPolicy = GraphQLErrorPolicy.none
  var extensions: JSONValue?
}

struct ChangeThing: GraphQLSession {
  typealias ResponseData = GetThing.ResponseData
  static let query: GraphQLDocument = "mutation changeThing { changeThing { name count } }"
}

/// A document with several operations, of which the name says which to run.
struct RunOne: GraphQLSession {
  typealias ResponseData = GetThing.ResponseData
  static let query: GraphQLDocument = "query read { thing { name } } mutation write { thing { name } }"
  var operationName: String
}

extension GetThing.ResponseData {
  /// The thing of `json`.
  static let whole = GetThing.ResponseData(thing: .init(name: "a", count: 1))
}

extension ScriptedResponse {
  static let wholeThing = ScriptedResponse.json(#"{"data": {"thing": {"name": "a", "count": 1}}}"#)

  /// JSON under the media type of GraphQL.
  static func graphQL(_ text: String, status: Int = 200) -> ScriptedResponse {
    .response(
      status: status, headers: ["Content-Type": "application/graphql-response+json; charset=utf-8"],
      body: Data(text.utf8))
  }
}
