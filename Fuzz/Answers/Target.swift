import Foundation

/// Any bytes as an answer in GraphQL's envelope, and in one with a code. Both ways of reading their content must agree, and
/// what is kept of errors must be within its bounds.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let body = Data(bytes: start, count: count)
  _ = (GraphQLOutcome(body, by: direct), CodeOutcome(body, by: direct))
  // Each member once: of two, the one way reads both, and the other the last alone.
  guard let value = try? direct.decode(JSONValue.self, from: body) else { return 0 }
  guard let body = try? direct.encode(value) else { preconditionFailure("What was read cannot be written.") }
  precondition(GraphQLOutcome(body, by: direct) == GraphQLOutcome(body, by: generic), "GraphQL is read differently.")
  precondition(CodeOutcome(body, by: direct) == CodeOutcome(body, by: generic), "A code is read differently.")
  return 0
}

/// Reads straight from the bytes.
private let direct = JSONCoder()
/// Reads by way of `Decodable`, as an option that changes nothing here makes it.
private let generic = JSONCoder(data: .deferredToData)

private struct GraphQLOutcome: Equatable {
  var thing: Thing?
  var isUnreadable = false
  var errors: [GraphQLError] = []
  var extensions: JSONValue?

  init?(_ body: Data, by coder: JSONCoder) {
    let envelope: GraphQLEnvelope
    do throws(JSONError) {
      envelope = try GraphQLEnvelope(body, data: &thing, by: coder)
    } catch {
      check(error)
      return nil
    }
    (errors, extensions) = (envelope.errors, envelope.extensions)
    if let failure = envelope.failure {
      check(failure)
      isUnreadable = true
    }
    precondition(errors.count <= 100, "There are too many errors.")
    for error in errors {
      precondition(error.message.utf8.count <= 1024 && error.locations.count <= 8, "An error is too large.")
      precondition(error.path.count <= 32 && error.description.utf8.count <= 8192, "A path is too long.")
    }
    check(RequestError(graphQL: errors).message, limit: 1024)
  }
}

private struct CodeOutcome: Equatable {
  var code: String
  var message: String
  var thing: Thing?

  init?(_ body: Data, by coder: JSONCoder) {
    guard let envelope = read(Envelope<Keys, Thing>.self, body, by: coder) else { return nil }
    (code, message, thing) = (envelope.code, envelope.message, envelope.content)
    precondition((thing != nil) == Keys.isSuccess(code), "There is content under another code, or none.")
  }
}

private func read<Value: Decodable>(_ type: Value.Type, _ body: Data, by coder: JSONCoder) -> Value? {
  do {
    return try coder.decode(type, from: body)
  } catch {
    check(error)
    return nil
  }
}

private func check(_ error: any Error) {
  let failure = DecodingFailure(error)
  check(failure.path, limit: 512)
  check(failure.reason, limit: 512)
}

private func check(_ text: String, limit: Int) {
  precondition(text.utf8.count <= limit + "…".utf8.count && text.sanitized() == text, "It is too long, or does harm.")
}

private enum Keys: EnvelopeKeys {
  static let code = "code"
  static let message = "msg"
  static let content = "data"
}

private struct Thing: Decodable, Equatable, JSONDecodable {
  var name: String
  var count: Int?

  init(from json: inout JSONReader) throws(JSONError) {
    var name: String?
    try json.beginObject()
    while try json.nextKey() {
      if json.key(is: "name") {
        name = try json.read()
      } else if json.key(is: "count") {
        count = try json.read()
      } else {
        try json.skipValue()
      }
    }
    self.name = try json.require(name, "name")
  }
}
