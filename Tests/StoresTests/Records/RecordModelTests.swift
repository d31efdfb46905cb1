import GraphQLLanguage
import Testing

@testable import Stores

struct RecordModelTests {
  /// The cache and the naive one, and who watches what.
  private struct Run {
    var test: TestCache
    var model = ModelCache()
    var index = WatchIndex()
    var watched: [UInt64: Set<ModelField>] = [:]
    var random: RecordRandom
    var nextLayer: UInt64 = 1

    init(seed: UInt64) {
      random = RecordRandom(state: seed)
      test = TestCache {
        $0.keyFields["E"] = []
        $0.possibleTypes = ["Some": ["T0", "E"], "Any": ["T0", "T1", "E"]]
      }
    }

    func plan(_ set: [ModelSelection]) throws -> PreparedPlan {
      let document = try DocumentSyntax(parsing: ModelSelection.text(set))
      return PreparedPlan(try RecordPlan(document, schema: test.cache.schema))
    }

    func fields(_ dependencies: RecordDependencies) -> Set<ModelField> {
      var fields: Set<ModelField> = []
      for entry in dependencies.entries {
        let name = test.cache.name(of: entry.entity)
        if let field = entry.field {
          let key = test.cache.fieldKeys[Int(field)]
          fields.insert(ModelField(entity: name, field: entry.isEmbedded ? "embedded " + key : key))
          continue
        }
        let layout = test.cache.layouts[Int(test.cache.entities[Int(entry.entity)].type)]
        for bit in 0..<64 where entry.mask & 1 << UInt64(bit) != 0 {
          let field = layout.fields[Int(entry.group) * 64 + bit]
          fields.insert(ModelField(entity: name, field: test.cache.fieldKeys[Int(field)]))
        }
      }
      return fields
    }

    mutating func step() throws {
      let set = ModelSelection.random(&random, depth: 3)
      let layers = test.cache.layerNumbers
      switch Int.random(in: 0..<20, using: &random) {
      case 0 where layers.count < 4:
        test.cache.addLayer(nextLayer)
        model.layers[nextLayer] = [:]
        nextLayer += 1
      case 1:
        guard let number = layers.randomElement(using: &random) else { return }
        let changes = test.cache.removeLayer(number)
        check(changes, model.changes { $0.layers[number] = nil })
      case 2:
        guard let number = layers.randomElement(using: &random) else { return }
        test.cache.settleLayer(number)
        check([], model.changes { $0.settle(number) })
      case 3: remove(random.one(in: 3) ? layers.randomElement(using: &random) : nil)
      case 4 where random.one(in: 3):
        let slice = Int.random(in: 1...8, using: &random)
        test.cache.beginCollection(retaining: [index.dependencies])
        while test.cache.continueCollection(entities: slice) {}
        model.collect(retaining: watched.values.reduce(into: []) { $0.formUnion($1) })
      case 5: try watch(set)
      case 6..<14: try write(set, in: random.one(in: 4) ? layers.randomElement(using: &random) : nil)
      default: _ = try read(set)
      }
    }

    private mutating func write(_ set: [ModelSelection], in layer: UInt64?) throws {
      var server = ModelServer(&random)
      server.isFickle = random.one(in: 3)
      let response = server.root(set)
      var plan = try plan(set)
      // Of a response with much that is not selected, what is left is moved, and another one gets its number.
      let rest = random.one(in: 3) ? #""rest":"\#(String(repeating: "-", count: 500))","# : ""
      let json = Array(("{" + rest + response.json.dropFirst()).replacing(",}", with: "}").utf8)
      let changes = try test.cache.write(json.span.bytes, of: &plan, errors: server.errors, in: layer)
      check(changes, model.changes { $0.store(response, in: layer) })
      if server.errors.isEmpty, random.one(in: 3) {
        #expect(try test.cache.write(json.span.bytes, of: &plan, in: layer) == [])
        _ = model.changes { $0.store(response, in: layer) }
      }
      if random.one(in: 2) { _ = try read(set) }
    }

    private mutating func read(_ set: [ModelSelection]) throws -> RecordResult {
      let isPartial = random.one(in: 2)
      var plan = try plan(set)
      let result = try test.cache.read(&plan, isPartial: isPartial)
      var naive = ModelRead(model, isPartial: isPartial)
      let text = naive.entity("Query", [set])
      #expect(result.text == text)
      #expect(result.missingPaths == naive.missing)
      #expect(fields(result.dependencies) == naive.dependencies)
      return result
    }

    private mutating func watch(_ set: [ModelSelection]) throws {
      let id = UInt64.random(in: 0..<6, using: &random)
      if random.one(in: 4) {
        index.unwatch(id)
        watched[id] = nil
      } else {
        let result = try read(set)
        index.watch(id, result.dependencies)
        watched[id] = fields(result.dependencies)
      }
    }

    private mutating func remove(_ layer: UInt64?) {
      let type = random.one(in: 2) ? "T0" : "T1"
      let id = String(Int.random(in: 0..<5, using: &random))
      guard let entity = test.cache.entity(type, id: id) else { return }
      if random.one(in: 2) {
        let changes = test.cache.remove(entity, in: layer)
        check(changes, model.changes { $0.remove({ $0.entity == "\(type):\(id)" }, in: layer) })
      } else {
        let changes = test.cache.remove(entity, field: "s1", in: layer)
        check(changes, model.changes { $0.remove({ $0.text == "\(type):\(id).s1" }, in: layer) })
      }
    }

    private mutating func check(_ changes: [RecordChange], _ expected: [String]) {
      #expect(test.names(changes) == expected)
      let touched = watched.filter { !Set($0.value.map(\.text)).isDisjoint(with: expected) }.keys.sorted()
      #expect(index.touched(by: changes) == touched)
    }
  }

  @Test("random writes, reads, layers, removals, watches and collections are as in a naive cache", arguments: 0..<20)
  func model(seed: UInt64) throws {
    var run = Run(seed: seed)
    for _ in 0..<100 { try run.step() }
  }

  @Test("a collection in slices, with other work between them, loses nothing that is watched", arguments: 0..<6)
  func slices(seed: UInt64) throws {
    var run = Run(seed: seed)
    var watched: [UInt64: (set: [ModelSelection], text: String?)] = [:]
    var isCollecting = false
    for _ in 0..<80 {
      let set = ModelSelection.random(&run.random, depth: 3)
      if run.random.one(in: 4) {
        let id = UInt64.random(in: 0..<4, using: &run.random)
        var plan = try run.plan(set)
        let result = try run.test.cache.read(&plan)
        run.index.watch(id, result.dependencies)
        watched[id] = (set, result.text)
      } else {
        var server = ModelServer(&run.random)
        server.hasErrors = false
        let response = server.root(set)
        var plan = try run.plan(set)
        let changes = try run.test.cache.write(Array(response.json.utf8).span.bytes, of: &plan)
        run.model.store(response, in: nil)
        for id in run.index.touched(by: changes) {
          guard let set = watched[id]?.set else { continue }
          var plan = try run.plan(set)
          let result = try run.test.cache.read(&plan)
          var naive = ModelRead(run.model, isPartial: false)
          // What nobody watched may be gone, but what is there is right.
          #expect(result.text == nil || result.text == naive.entity("Query", [set]))
          run.index.watch(id, result.dependencies)
          watched[id] = (set, result.text)
        }
      }
      if isCollecting {
        isCollecting = run.test.cache.continueCollection(entities: Int.random(in: 1...3, using: &run.random))
      } else {
        for (set, text) in watched.values {
          var plan = try run.plan(set)
          #expect(try run.test.cache.read(&plan).text == text)
        }
        run.test.cache.beginCollection(retaining: [run.index.dependencies])
        isCollecting = true
      }
    }
  }

  @Test("a response with a changed byte is either refused without a trace, or is JSON", arguments: 0..<4)
  func damaged(seed: UInt64) throws {
    var run = Run(seed: seed)
    for _ in 0..<60 {
      let set = ModelSelection.random(&run.random, depth: 3)
      var server = ModelServer(&run.random)
      var json = Array(server.root(set).json.utf8)
      let place = Int.random(in: json.indices, using: &run.random)
      if run.random.one(in: 2) {
        json[place] = "{}[]\",:0-.eE+tn\\u x\u{0}\u{7F}".utf8.randomElement(using: &run.random) ?? 0xC3
      } else {
        json.removeSubrange(run.random.one(in: 2) ? place..<json.count : place..<(place + 1))
      }
      var plan = try run.plan(set)
      let isJSON = (try? JSONChecking.check(json)) != nil
      let before = run.test.cache
      do {
        _ = try run.test.cache.write(json.span.bytes, of: &plan)
        #expect(isJSON)
      } catch {
        if case .malformed = error { #expect(!isJSON) } else { #expect(isJSON) }
        var copy = before
        let old = try copy.read(&plan, isPartial: true).text
        #expect(try run.test.cache.read(&plan, isPartial: true).text == old)
      }
    }
  }
}
