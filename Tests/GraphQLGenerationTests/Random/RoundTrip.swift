import Foundation
import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import StrictJSON

/// Generated sessions against their schema: the contract check, and responses of an executor.
///
/// Programs that are made of random operations have a copy of this file.
struct RoundTrip {
  private let schema: Schema
  private static let samples: ScalarSamples = ["BigInt": [7], "JSON": [["a": 1]], "Anything": [["a": [1]]]]

  init(schema file: String) throws {
    schema = try Schema(parsing: String(contentsOfFile: file, encoding: .utf8))
  }

  /// What is wrong with a session; nothing, if it is right.
  ///
  /// - Parameter make: makes it with this value for all variables.
  func problems<Session: GraphQLSession>(_ make: (Bool) -> Session) -> [String]
  where Session.ResponseData: JSONDecodable & JSONEncodable & Equatable {
    let sessions = [make(true), make(false)]
    var problems = SessionCheck(schema, samples: Self.samples)
      .findings(in: Session.self, variables: sessions.map(\.variables))
      .filter { $0.severity == .error }.map(\.description)
    for seed in 0..<3 as Range<UInt64> {
      let server = TestServer(
        schema: schema, seed: seed, samples: Self.samples, nulls: seed == 0 ? 0 : 0.3, lengths: 0...2)
      for session in sessions {
        do {
          let variables = try JSONValue(json: JSONCoder().encode(session.variables).bytes)
          guard case .object(let values) = variables else { throw Unexpected(what: "variables \(variables)") }
          let result = server.execute(Session.query.text, variables: values)
          guard let data = result.data?.json, result.errors.isEmpty else { throw Unexpected(what: "\(result)") }
          problems += try Self.problems(Session.ResponseData.self, data)
        } catch {
          problems.append("\(error)")
        }
      }
    }
    return problems.map { "\(Session.query.text): \($0)" }
  }

  /// Reads and writes a response. Whatever changes in it has to change the value, too.
  private static func problems<Value: JSONDecodable & JSONEncodable & Equatable>(
    _: Value.Type, _ data: JSONValue
  ) throws -> [String] {
    let value = try Value(json: data.json().bytes)
    var problems: [String] = []
    if try JSONValue(json: value.json().bytes) != data { problems.append("\(data) is written as \(try value.json())") }
    for (path, changed) in changes(of: data) {
      // What cannot be read any more was looked at.
      guard let other = try? Value(json: changed.json().bytes) else { continue }
      if other == value { problems.append("\(path) is not read from \(data)") }
    }
    return problems
  }

  /// A value with one of its leaves changed, for each of them but the names of types.
  private static func changes(of value: JSONValue) -> [(path: String, value: JSONValue)] {
    switch value {
    case .null: []
    case .bool(let flag): [("", .bool(!flag))]
    case .string(let text): [("", .string(text + "x"))]
    case .integer(let number): [("", .integer(number - 1))]
    case .number(let number): [("", .number(number / 2))]
    case .literal: []
    case .array(let items):
      items.indices.flatMap { index in
        changes(of: items[index]).map { path, item in
          var changed = items
          changed[index] = item
          return (".\(index)\(path)", .array(changed))
        }
      }
    case .object(let members):
      members.sorted { $0.key < $1.key }.flatMap { name, member in
        name == "__typename"
          ? []
          : changes(of: member).map { path, member in
            var changed = members
            changed[name] = member
            return (".\(name)\(path)", .object(changed))
          }
      }
    }
  }

  private struct Unexpected: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
  }
}
