import HTTPClientCore
public import StrictJSON

/// A fragment that may arrive after the rest of its object: a member of the data's type, named as the `label` of the
/// fragment's `@defer`.
///
///     struct ResponseData: Decodable, Sendable {
///       struct User: Decodable, Sendable {
///         let name: String
///         let likes: Deferred<Likes>
///       }
///       struct Likes: Decodable, Sendable { let likeCount: Int }
///       let user: User
///     }
///     static let query: GraphQLDocument = """
///       query user { user { name ...likes @defer(label: "likes") } } fragment likes on User { likeCount }
///       """
///
/// A fragment whose type condition the object does not meet, or of which no field is there, stays `pending`, also when the
/// response is complete. The fields of a fragment without a label are read from the object itself, as optional members.
public enum Deferred<Value: Sendable>: Sendable {
  /// It has not arrived yet.
  case pending
  /// It has arrived, or came with the rest of its object.
  case ready(Value)
  /// It will not arrive, for these errors: the server's, at most 100.
  case failed([GraphQLError])

  /// The value, if it is ready.
  public var value: Value? {
    if case .ready(let value) = self { value } else { nil }
  }

  /// The errors, if it has failed.
  public var errors: [GraphQLError] {
    if case .failed(let errors) = self { errors } else { [] }
  }
}

extension Deferred: Equatable where Value: Equatable {}

extension Deferred: Hashable where Value: Hashable {}

/// The object that stands for a fragment has one of the members, or none while the fragment is pending.
enum DeferredKeys: String, CodingKey {
  case ready
  /// The errors as JSON in a string: errors are read in one way, whatever the decoder is.
  case failed
}

extension Deferred: Decodable where Value: Decodable {
  /// Reads what a client puts in the fragment's place.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DeferredKeys.self)
    if let text = try container.decodeIfPresent(String.self, forKey: .failed) {
      self = .failed(try FirstErrors(json: text).errors)
    } else if container.contains(.ready) {
      self = .ready(try container.decode(Value.self, forKey: .ready))
    } else {
      self = .pending
    }
  }
}

extension Deferred: JSONDecodable where Value: JSONDecodable {
  /// Reads what a client puts in the fragment's place.
  public init(from json: inout JSONReader) throws(JSONError) {
    self = .pending
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "ready") {
        self = .ready(try json.read(Value.self))
      } else if json.key(is: "failed") {
        self = .failed(try FirstErrors(json: try json.readString()).errors)
      } else {
        try json.skipValue()
      }
    }
  }
}

/// Any ``Deferred``, for checks of sessions.
package protocol DeferredFragment: Decodable {
  /// One that has not arrived.
  static var notArrived: Self { get }
  /// One that has arrived; its fields are read from the decoder of its object.
  static func ready(from decoder: any Decoder) throws -> Self
}

extension Deferred: DeferredFragment where Value: Decodable {
  package static var notArrived: Self { .pending }
  package static func ready(from decoder: any Decoder) throws -> Self { .ready(try Value(from: decoder)) }
}
