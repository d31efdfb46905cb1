import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// Pages of a list in layers, against a cache without layers in which the same is written in the order of these.
@Suite struct RecordLayerModelTests {
  private enum Write {
    case page([Int], [String: JSONValue], hasNext: Bool, hasPrevious: Bool)
    case edit([Int], [String: JSONValue])
    /// A page without elements, which has reached a cursor.
    case empty([String: JSONValue], cursor: String)
    case null
    case removal

    init(_ random: inout SplitMix) {
      let start = Int.random(in: 1...6, using: &random)
      let ids = Array(start..<min(start + Int.random(in: 0...3, using: &random), 8))
      let variables: [[String: JSONValue]] = [
        ["first": 2], ["first": 2, "after": .string("c\(start - 1)")], ["last": 2],
        ["last": 2, "before": .string("c\((ids.last ?? start - 1) + 1)")],
      ]
      let arguments = variables[Int.random(in: 0..<4, using: &random)]
      self =
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2:
          .page(
            ids, arguments, hasNext: Bool.random(using: &random), hasPrevious: Bool.random(using: &random))
        case 3, 4: .edit(ids.shuffled(using: &random), arguments)
        case 5: .empty(arguments, cursor: "c\(Int.random(in: 1...7, using: &random))")
        case 6: .null
        default: .removal
        }
    }

    func apply(to connection: inout TestConnection, in layer: UInt64?) throws {
      if let layer { connection.test.cache.addLayer(layer) }
      switch self {
      case .page(let ids, let variables, let hasNext, let hasPrevious):
        let page = TestConnection.response(ids, hasNext: hasNext, hasPrevious: hasPrevious)
        try connection.test.write(TestConnection.document, page, variables, in: layer)
      case .edit(let ids, let variables):
        var plan = try connection.test.plan(TestConnection.document, variables: variables)
        plan.replacesPages = true
        let json = Array(TestConnection.response(ids, hasNext: true).utf8)
        _ = try connection.test.cache.write(json.span.bytes, of: &plan, in: layer)
      case .empty(let variables, let cursor):
        let info: JSONValue = [
          "__typename": "PageInfo", "hasNextPage": true, "hasPreviousPage": true, "startCursor": .string(cursor),
          "endCursor": .string(cursor),
        ]
        let data: JSONValue = ["users": ["__typename": "Users", "edges": [], "pageInfo": info]]
        try connection.test.write(TestConnection.document, TestConnection.text(of: data), variables, in: layer)
      case .null: try connection.test.write(TestConnection.document, #"{"users":null}"#, ["first": 2], in: layer)
      case .removal:
        guard let root = connection.test.cache.root("Query") else { return }
        _ = connection.test.cache.remove(root, field: "users(order:NEW)", in: layer)
      }
    }
  }

  /// What a first and a last page show, and all that follow them.
  private func shown(_ connection: inout TestConnection) throws -> [String] {
    try [["first": 2], ["last": 2]].flatMap { (variables: [String: JSONValue]) in
      try [false, true].map { readsAllPages in
        var plan = try connection.test.plan(TestConnection.document, variables: variables)
        plan.readsAllPages = readsAllPages
        return try connection.test.cache.read(&plan).text ?? "missing"
      }
    }
  }

  /// A removal of what is not there hides nothing, so that it is no write of its own.
  private func removesNothing(_ write: Write, _ connection: TestConnection, in layer: UInt64) -> Bool {
    guard case .removal = write else { return false }
    let cache = connection.test.cache
    guard let root = cache.root("Query"), let field = cache.fieldNumber("users(order:NEW)"),
      let place = cache.place(ofLayer: layer == 0 ? nil : layer)
    else { return true }
    return cache.visible(root.number, field, at: -1, upTo: place).kind == .missing
  }

  @Test("N4: layers of pages, edits, nulls and removals show what their writes do in order", arguments: 0..<40)
  func replay(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    var connection = TestConnection()
    var writes: [(layer: UInt64, write: Write)] = []
    for _ in 0..<14 {
      let (write, layer) = (Write(&random), UInt64.random(in: 0...4, using: &random))
      if removesNothing(write, connection, in: layer) { continue }
      try write.apply(to: &connection, in: layer == 0 ? nil : layer)
      writes.append((layer, write))
      if Int.random(in: 0..<6, using: &random) == 0,
        let gone = connection.test.cache.layerNumbers.randomElement(using: &random)
      {
        _ = connection.test.cache.removeLayer(gone)
        writes.removeAll { $0.layer == gone }
      }
      var replayed = TestConnection()
      for layer in 0...4 as ClosedRange<UInt64> {
        for (_, write) in writes.filter({ $0.layer == layer }) { try write.apply(to: &replayed, in: nil) }
      }
      let expected = try shown(&replayed)
      try #require(try shown(&connection) == expected, "\(writes)")
    }
    let last = try shown(&connection)
    for layer in connection.test.cache.layerNumbers { connection.test.cache.settleLayer(layer) }
    #expect(try shown(&connection) == last)
  }
}
