/// The layers that closures of mutations have made, which are made again when what they were made of changes below them:
/// so of two mutations that add to one list, each adds to what the other has left.
struct RecordRebases: Sendable {
  struct Rebase: Sendable {
    let layer: UInt64
    let epoch: UInt64
    /// Writes the response, and calls the closure.
    let run: @Sendable (NormalizedEdits) throws -> Void
    fileprivate var dependencies = RecordDependencies()
    /// What it was made of before, while it is made again.
    fileprivate var former = RecordDependencies()
    /// Whether it was made for the first time.
    fileprivate var isMade = false
    fileprivate var isRunning = false
  }

  private var rebases: [UInt64: Rebase] = [:]
  /// What they were made of.
  private var index = WatchIndex()
  private var due: Set<UInt64> = []

  var isEmpty: Bool { rebases.isEmpty }

  var count: Int { rebases.count }

  func has(_ layer: UInt64) -> Bool { rebases[layer] != nil }

  func isRunning(_ layer: UInt64) -> Bool { rebases[layer]?.isRunning ?? false }

  /// What they are made of, or were until they are made again: a collection must retain it.
  var dependencies: RecordDependencies {
    rebases.values.reduce(into: index.dependencies) { $0.formUnion($1.former) }
  }

  mutating func keep(
    _ layer: UInt64, _ epoch: UInt64, isDue: Bool = false, _ run: @escaping @Sendable (NormalizedEdits) throws -> Void
  ) {
    rebases[layer] = Rebase(layer: layer, epoch: epoch, run: run)
    if isDue { due.insert(layer) }
  }

  /// Ends the first making of a layer, during which it is not made again.
  mutating func endFirst(_ layer: UInt64) { rebases[layer]?.isMade = true }

  /// What is left of some layers when everything that they were made of is removed: they are to be made again.
  func restarted(_ layers: Set<UInt64>, _ epoch: UInt64) -> RecordRebases {
    var left = RecordRebases()
    for (layer, rebase) in rebases where layers.contains(layer) {
      left.keep(layer, epoch, isDue: true, rebase.run)
      left.rebases[layer]?.isMade = rebase.isMade
    }
    return left
  }

  /// Forgets a layer; returns what has made it, to be released outside the lock.
  mutating func forget(_ layer: UInt64) -> Rebase? {
    guard let rebase = rebases.removeValue(forKey: layer) else { return nil }
    index.unwatch(layer)
    due.remove(layer)
    return rebase
  }

  /// Notes what a layer is made of.
  mutating func depend(_ layer: UInt64, on dependencies: RecordDependencies) {
    guard rebases[layer] != nil else { return }
    rebases[layer]?.dependencies.formUnion(dependencies)
    if let all = rebases[layer]?.dependencies { index.watch(layer, all) }
  }

  /// Notes what has another value at a level: layers above it that were made of that are to be made again, up to the first
  /// that has the field itself. Those above that one follow if it is otherwise then.
  mutating func note(_ altered: [RecordAlteration], in cache: RecordCache) {
    for alteration in altered {
      let last = cache.layerThatHides(alteration) ?? .max
      due.formUnion(index.touched(by: [alteration.field]).filter { $0 > alteration.level && $0 <= last })
    }
  }

  /// Whether a layer may become a part of the one below, or of the base, which is 0: it is not made again any more then.
  func maySettle(_ layer: UInt64, into low: UInt64) -> Bool {
    if low > 0 { return rebases[layer] == nil && rebases[low] == nil }
    return !due.contains(layer) && !isRunning(layer)
  }

  private var next: UInt64? { due.filter { rebases[$0]?.isMade == true && !isRunning($0) }.min() }

  var isAnyDue: Bool { !due.isEmpty && next != nil }

  mutating func begin() -> Rebase? {
    guard let layer = next else { return nil }
    due.remove(layer)
    rebases[layer]?.isRunning = true
    let former = rebases[layer]?.dependencies ?? RecordDependencies()
    rebases[layer]?.former = former
    rebases[layer]?.dependencies = RecordDependencies()
    return rebases[layer]
  }

  /// Ends the making of a layer; returns whether it is still wanted.
  mutating func end(_ layer: UInt64) -> Bool {
    guard isRunning(layer) else { return false }
    rebases[layer]?.isRunning = false
    rebases[layer]?.former = RecordDependencies()
    return true
  }
}
