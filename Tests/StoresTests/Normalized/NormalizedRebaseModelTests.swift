import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Closures of mutations that change one list, against a list to which all of them are applied again at each step.
@Suite struct NormalizedRebaseModelTests {
  /// What a mutation's closure does with the list, besides what the response has brought.
  private enum Edit: CaseIterable {
    case addFirst, removeFirst, renameFirst, addIfEven, nothing
  }

  /// The list, and the titles of all issues that were ever brought.
  private struct Shown {
    var ids: [String] = []
    var titles: [String: String] = [:]

    var description: String { ids.map { "\($0):\(titles[$0] ?? "?")" }.joined(separator: ",") }

    mutating func apply(_ edit: Edit, _ id: String) {
      titles[id] = id
      switch edit {
      case .addFirst: if !ids.contains(id) { ids.insert(id, at: 0) }
      case .removeFirst: if !ids.isEmpty { ids.removeFirst() }
      case .renameFirst: if let first = ids.first { titles[first, default: ""] += "!" }
      case .addIfEven: if ids.count % 2 == 0, !ids.contains(id) { ids.append(id) }
      case .nothing: break
      }
    }
  }

  private struct Mutation {
    let edit: Edit
    let optimisticID: String?
    let request: QuietServer.Request
    let recorder: Recorder<RenameIssue.ResponseData>
    var answer: String?
  }

  private enum Change {
    case list([String])
    case mutation(Int)
  }

  private static func edit(_ list: inout GetIssuesWithIDs.ResponseData, _ edit: Edit, _ id: String) {
    switch edit {
    case .addFirst:
      if !list.issues.contains(where: { $0.id == id }) { list.issues.insert(.init(id: id, title: id), at: 0) }
    case .removeFirst: if !list.issues.isEmpty { list.issues.removeFirst() }
    case .renameFirst:
      if let first = list.issues.first { list.issues[0] = .init(id: first.id, title: (first.title ?? "") + "!") }
    case .addIfEven:
      if list.issues.count % 2 == 0, !list.issues.contains(where: { $0.id == id }) {
        list.issues.append(.init(id: id, title: id))
      }
    case .nothing: break
    }
  }

  @Test(arguments: 0..<UInt64(TestScale.count(60, long: 3000)))
  func `N15: closures that change one list show what they make of it, in the order of the answers, then of what waits`(
    seed: UInt64
  ) throws {
    var random = SplitMix(seed: seed)
    let world = try NormalizedWorld { $0.backoff = nil }
    let stream = Recorder(world.store.stream(GetIssuesWithIDs(), .cacheOnly))
    var (changes, mutations, log) = ([Change](), [Mutation](), [String]())

    func bring(_ ids: [String]) throws {
      log.append("list \(ids)")
      changes.append(.list(ids))
      try world.store.receive(
        ["issues": .array(ids.map { ["id": .string($0), "title": .string($0)] })], of: GetIssuesWithIDs())
    }
    func wanted() -> String {
      var shown = Shown()
      for change in changes {
        switch change {
        case .list(let ids):
          shown.ids = ids
          for id in ids { shown.titles[id] = id }
        case .mutation(let number):
          if let id = mutations[number].answer { shown.apply(mutations[number].edit, id) }
        }
      }
      // What is optimistic is above all answers.
      for mutation in mutations where mutation.answer == nil {
        if let id = mutation.optimisticID { shown.apply(mutation.edit, id) }
      }
      return shown.description
    }

    try bring(["a", "b"])
    for step in 0..<40 {
      let waiting = mutations.indices.filter { mutations[$0].answer == nil && mutations[$0].optimisticID != nil }
      switch Int.random(in: 0..<8, using: &random) {
      case 0:
        try bring(["a", "b", "c", "d"].shuffled(using: &random).suffix(Int.random(in: 0...4, using: &random)))
      case 1...3:
        let edit = Edit.allCases[Int.random(in: 0..<5, using: &random)]
        let id = "t\(step)"
        log.append("mutation \(mutations.count) \(edit) \(id)")
        let recorder = Recorder(
          world.store.mutate(
            RenameIssue(id, id), optimisticResponse: RenameIssue.ResponseData(rename: .init(id: id, title: id))
          ) { data, edits in
            guard let id = data.rename?.id, edit != .nothing else { return }
            try edits.update(GetIssuesWithIDs()) { Self.edit(&$0, edit, id) }
          })
        mutations.append(Mutation(edit: edit, optimisticID: id, request: world.server.last, recorder: recorder))
      case 4...6:
        guard let number = waiting.randomElement(using: &random) else { continue }
        let id = Bool.random(using: &random) ? mutations[number].optimisticID ?? "" : "i\(number)"
        log.append("answer \(number) \(id)")
        mutations[number].answer = id
        changes.append(.mutation(number))
        mutations[number].request.data(renamed(id, id))
      default:
        guard let number = waiting.randomElement(using: &random) else { continue }
        log.append("failure of \(number)")
        let old = mutations[number]
        mutations[number] = Mutation(
          edit: old.edit, optimisticID: nil, request: old.request, recorder: old.recorder)
        old.request.fail()
      }
      let shown = stream.take().last?.value ?? world.store.peek(GetIssuesWithIDs())?.value
      #expect(shown?.description == wanted(), "seed \(seed): \(log)")
    }
    for mutation in mutations { mutation.recorder.dispose() }
  }
}
