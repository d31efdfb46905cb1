import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// A store against a naive cache: a list of all changes in the order in which they began, and dictionaries.
@Suite struct NormalizedModelTests {
  /// What changes have brought, in the order in which they began.
  private struct Model {
    struct Change {
      var fields: [String: String] = [:]
      var list: [String]?
      /// Whether it shows only until it ends.
      var isOptimistic = false
    }

    var changes: [(number: Int, change: Change)] = []

    mutating func add(_ number: Int, _ change: Change) {
      changes.append((number, change))
      // Optimistic changes are above what a server has answered.
      changes.sort { ($0.change.isOptimistic ? 1 : 0, $0.number) < ($1.change.isOptimistic ? 1 : 0, $1.number) }
    }

    mutating func end(_ number: Int) { changes.removeAll { $0.number == number && $0.change.isOptimistic } }

    /// What is to stay.
    var answered: Model { Model(changes: changes.filter { !$0.change.isOptimistic }) }

    func field(_ id: String, _ name: String) -> String? {
      changes.last { $0.change.fields["\(id).\(name)"] != nil }?.change.fields["\(id).\(name)"]
    }

    /// What `GetIssue` reads; `nil` if it was never brought whole.
    func issue(_ id: String, requested: Set<String>) -> String? {
      guard requested.contains(id), let title = field(id, "title"), let state = field(id, "state") else { return nil }
      return "\(id) \(title) \(state)"
    }

    var list: String? {
      guard let ids = changes.last(where: { $0.change.list != nil })?.change.list else { return nil }
      return ids.map { field($0, "title") ?? "?" }.joined(separator: ",")
    }
  }

  private struct Card: Codable, Sendable, CustomStringConvertible {
    static let fragment: GraphQLDocument = "fragment card on Issue { title state }"
    let title: String
    let state: String
    var description: String { "\(title) \(state)" }
  }

  private enum Pending {
    case issue(String, Recorder<Snapshot<GetIssue.ResponseData>>)
    case list(Recorder<Snapshot<GetIssuesWithIDs.ResponseData>>)
    case mutation(String, Recorder<RenameIssue.ResponseData>)

    func dispose() {
      switch self {
      case .issue(_, let recorder): recorder.dispose()
      case .list(let recorder): recorder.dispose()
      case .mutation(_, let recorder): recorder.dispose()
      }
    }
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func `N15: any sequence of requests, mutations, edits and failures shows what a naive cache does`(seed: UInt64) throws
  {
    var random = SplitMix(seed: seed)
    let world = try NormalizedWorld { $0.backoff = nil }
    var model = Model()
    var requested: Set<String> = []
    var pending: [(number: Int, request: QuietServer.Request, kind: Pending)] = []
    var lastNumber = 0
    let ids = ["1", "2", "3"]
    let watchers = Dictionary(
      uniqueKeysWithValues: ids.map { ($0, Recorder(world.store.values(GetIssue($0)))) })
    // They keep the entities from collections, too, which the model does not know.
    let cards = Dictionary(
      uniqueKeysWithValues: ids.map { id in
        (id, Recorder(world.store.values(Card.self, Card.fragment, of: EntityID("Issue", id: id))))
      })
    let lists = Recorder(world.store.values(GetIssues()))
    var shown: [String: String] = [:]
    var log: [String] = []

    func check() {
      for id in ids {
        let values = watchers[id]?.take().map(\.description) ?? []
        let wanted = model.issue(id, requested: requested)
        for value in values {
          #expect(value != shown[id], "an equal value twice, seed \(seed): \(log)")
          shown[id] = value
        }
        for card in cards[id]?.take().map(\.description) ?? [] {
          #expect(card != shown["card \(id)"], "an equal value of a fragment twice, seed \(seed): \(log)")
          shown["card \(id)"] = card
        }
        if let title = model.field(id, "title"), let state = model.field(id, "state") {
          #expect(shown["card \(id)"] == "\(title) \(state)", "seed \(seed): \(log)")
        }
        // Before it was whole, a partial response may be shown.
        guard let wanted else { continue }
        #expect(shown[id] == wanted, "seed \(seed): \(log)")
        #expect(world.store.peek(GetIssue(id))?.value?.description == wanted, "seed \(seed): \(log)")
      }
      for value in lists.take().map(\.description) {
        #expect(value != shown["list"], "an equal list twice, seed \(seed): \(log)")
        shown["list"] = value
      }
      if let wanted = model.list { #expect(shown["list"] == wanted, "seed \(seed): \(log)") }
    }

    for step in 0..<60 {
      let id = ids[Int.random(in: 0..<3, using: &random)]
      let title = "t\(step)"
      lastNumber += 1
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1:
        let isInProgress = pending.contains { if case .issue(id, _) = $0.kind { true } else { false } }
        if isInProgress { continue }
        log.append("query \(id)")
        let recorder = Recorder(world.store.get(GetIssue(id, errorPolicy: .all), .networkOnly))
        pending.append((lastNumber, world.server.last, .issue(id, recorder)))
      case 2:
        if pending.contains(where: { if case .list = $0.kind { true } else { false } }) { continue }
        log.append("list")
        let recorder = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
        pending.append((lastNumber, world.server.last, .list(recorder)))
      case 3, 4:
        // An optimistic response of an entity whose other fields may be missing.
        let isOptimistic = Bool.random(using: &random)
        log.append("mutate \(id) \(isOptimistic ? title : "")")
        let optimistic: JSONValue? =
          isOptimistic ? ["rename": ["id": .string(id), "title": .string(title)]] : nil
        if isOptimistic {
          model.add(lastNumber, .init(fields: ["\(id).title": title], isOptimistic: true))
        }
        let recorder = Recorder(world.store.mutate(RenameIssue(id, title), optimisticResponse: optimistic))
        pending.append((lastNumber, world.server.last, .mutation(id, recorder)))
      case 5, 6, 7, 8:
        guard let place = pending.indices.randomElement(using: &random) else { continue }
        let (number, request, kind) = pending.remove(at: place)
        log.append("answer \(number) \(title)")
        model.end(number)
        switch kind {
        case .issue(let id, _):
          requested.insert(id)
          let isPartial = Int.random(in: 0..<4, using: &random) == 0
          if isPartial {
            model.add(number, .init(fields: ["\(id).state": title]))
            request.answer(
              """
              {"data": {"issue": {"__typename": "Issue", "id": "\(id)", "title": null, "state": "\(title)"}},
               "errors": [{"message": "No.", "path": ["issue", "title"]}]}
              """)
          } else {
            model.add(number, .init(fields: ["\(id).title": title, "\(id).state": title]))
            request.data(issue(id, title, title))
          }
        case .list:
          let some = ids.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))
          var change = Model.Change(list: Array(some))
          for id in some { change.fields["\(id).title"] = title + id }
          model.add(number, change)
          let elements = some.map { #"{"__typename": "Issue", "id": "\#($0)", "title": "\#(title + $0)"}"# }
          request.data(#"{"issues": [\#(elements.joined(separator: ","))]}"#)
        case .mutation(let id, _):
          model.add(number, .init(fields: ["\(id).title": title]))
          request.data(renamed(id, title))
        }
      case 9:
        guard let place = pending.indices.randomElement(using: &random) else { continue }
        let (number, request, kind) = pending.remove(at: place)
        log.append("fail \(number)")
        model.end(number)
        if Bool.random(using: &random) { request.fail() } else { kind.dispose() }
      case 10:
        log.append("edit \(id)")
        if model.answered.issue(id, requested: requested) != nil {
          model.add(lastNumber, .init(fields: ["\(id).title": title]))
        }
        try world.store.update(GetIssue(id)) { $0.issue?.title = title }
      default:
        log.append("collect")
        world.store.collect()
      }
      check()
    }
    for (_, request, _) in pending { request.fail() }
    #expect(world.store.records.withLock { $0.cache.layerNumbers }.isEmpty)
  }
}
