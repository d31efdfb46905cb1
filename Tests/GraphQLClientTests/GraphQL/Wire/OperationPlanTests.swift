import GraphQLClientTestSupport
import HTTPClientCore
import Testing

@testable import GraphQLClient

@Suite("how an operation is planned to travel")
struct OperationPlanTests {
  private static let documents: [String: GraphQLDocument] = [
    "query": "query a { a }", "mutation": "mutation a { a }", "subscription": "subscription a { a }",
    "deferred": #"query a { ... @defer(label: "b") { c } }"#,
    "live in parts": #"subscription a { ... @defer(label: "b") { c } }"#,
    "bad labels": #"query a { b ... @defer(label: "b") { c } }"#,
  ]

  private static let wires: [String: GraphQLWire] = [
    "post": .post, "get": .get, "hashes": .persistedQueries(), "hashes by POST": .persistedQueries(byGET: false),
    "ids": .trustedDocuments(.apollo), "not in the manifest": .trustedDocuments(.apollo, ids: manifest),
    "batches": batches(.get), "hashes in batches": batches(.persistedQueries()),
  ]

  private static let manifest = try? GraphQLManifest(["query other { a }"])

  private static func batches(_ wire: GraphQLWire) -> GraphQLWire {
    var wire = wire
    wire.batching = .within()
    return wire
  }

  /// What is asked for, and what the plan is to be: the form of the document, the method, and whether it may join a batch;
  /// or a part of the error.
  struct Row: CustomTestStringConvertible, Sendable {
    var document: String
    var delivery: OperationPlan.Delivery
    var wire: String
    var circumstances: Set<Circumstance> = []
    var plan: String

    enum Circumstance { case isSecret, isAlone, isWithoutHashes, isSecondAttempt }

    var testDescription: String { "\(document) \(delivery) by \(wire) \(circumstances)" }
  }

  private static let post = OperationPlan.Delivery.once(.post)
  private static let get = OperationPlan.Delivery.once(.get)

  private static let rows = [
    Row(document: "query", delivery: post, wire: "post", plan: "text by post"),
    Row(document: "query", delivery: get, wire: "post", plan: "text by get"),
    Row(document: "query", delivery: post, wire: "get", plan: "text by getIfPossible"),
    Row(document: "query", delivery: get, wire: "get", plan: "text by get"),
    Row(document: "query", delivery: post, wire: "get", circumstances: [.isSecret], plan: "text by post"),
    Row(document: "query", delivery: get, wire: "get", circumstances: [.isSecret], plan: "text by get"),
    Row(document: "query", delivery: post, wire: "hashes", plan: "hash by getIfPossible"),
    Row(document: "query", delivery: post, wire: "hashes by POST", plan: "hash by post"),
    Row(document: "query", delivery: get, wire: "hashes by POST", plan: "hash by get"),
    Row(
      document: "query", delivery: post, wire: "hashes", circumstances: [.isWithoutHashes],
      plan: "text by getIfPossible"),
    Row(
      document: "query", delivery: post, wire: "hashes", circumstances: [.isSecondAttempt],
      plan: "text with hash by post"),
    Row(document: "query", delivery: post, wire: "hashes", circumstances: [.isSecret], plan: "hash by post"),
    Row(document: "query", delivery: post, wire: "ids", plan: "id by getIfPossible"),
    Row(document: "query", delivery: post, wire: "not in the manifest", plan: "is not in the manifest"),
    Row(document: "query", delivery: post, wire: "batches", plan: "text by post in a batch"),
    Row(document: "query", delivery: get, wire: "batches", plan: "text by get in a batch"),
    Row(document: "query", delivery: post, wire: "batches", circumstances: [.isSecret], plan: "text by post"),
    Row(document: "query", delivery: post, wire: "batches", circumstances: [.isAlone], plan: "text by post"),
    Row(document: "query", delivery: post, wire: "hashes in batches", plan: "hash by post in a batch"),
    Row(document: "query", delivery: .once(.put), wire: "post", plan: "cannot be sent with PUT"),
    Row(document: "query", delivery: .live, wire: "post", plan: "no subscription named 'a'"),

    Row(document: "mutation", delivery: post, wire: "get", plan: "text by post"),
    Row(document: "mutation", delivery: get, wire: "get", plan: "A mutation cannot be sent with GET"),
    Row(document: "mutation", delivery: post, wire: "hashes", plan: "hash by post"),
    Row(document: "mutation", delivery: post, wire: "ids", plan: "id by post"),
    Row(document: "mutation", delivery: post, wire: "batches", plan: "text by post"),
    Row(document: "mutation", delivery: .live, wire: "post", plan: "no subscription named 'a'"),

    Row(document: "deferred", delivery: post, wire: "get", plan: "text by getIfPossible"),
    Row(document: "deferred", delivery: post, wire: "batches", plan: "text by post"),
    Row(document: "bad labels", delivery: post, wire: "post", plan: "also the name of a field"),

    Row(document: "subscription", delivery: .live, wire: "post", plan: "text by post"),
    Row(document: "subscription", delivery: .live, wire: "get", plan: "text by post"),
    Row(document: "subscription", delivery: .live, wire: "hashes", plan: "text by post"),
    Row(document: "subscription", delivery: .live, wire: "ids", plan: "id by post"),
    Row(document: "subscription", delivery: .live, wire: "not in the manifest", plan: "is not in the manifest"),
    Row(document: "subscription", delivery: .live, wire: "batches", plan: "text by post"),
    Row(document: "subscription", delivery: post, wire: "post", plan: "make it a GraphQLSubscription"),
    Row(document: "live in parts", delivery: .live, wire: "post", plan: "take '@defer' and '@stream' out"),
  ]

  @Test(arguments: rows) func `an operation travels as the table says`(row: Row) throws {
    let document = try #require(Self.documents[row.document])
    let wire = try #require(Self.wires[row.wire])
    let circumstances = row.circumstances
    do throws(RequestError) {
      let plan = try OperationPlan(
        document, named: "a", row.delivery, by: wire, isSecret: circumstances.contains(.isSecret),
        isAlone: circumstances.contains(.isAlone),
        insteadOfHash: circumstances.contains(.isSecondAttempt) ? .text(withHash: true) : nil,
        sendsHashes: !circumstances.contains(.isWithoutHashes))
      #expect(plan.description == row.plan)
    } catch {
      #expect(error.kind == .invalidRequest)
      #expect("\(error)".contains(row.plan))
    }
  }
}

extension OperationPlan {
  fileprivate var description: String {
    let form =
      switch document {
      case .text(withHash: false): "text"
      case .text(withHash: true): "text with hash"
      case .hash: "hash"
      case .id: "id"
      }
    return "\(form) by \(method)" + (mayJoinBatch ? " in a batch" : "")
  }
}
