import Testing

@testable import Repository

@Suite struct OutboxLayersTests {
  private func layer(_ id: UInt64) -> Layer<String, String> {
    Layer(id: id, key: nil, isInOrder: true, apply: { _, value in value })
  }

  @Test func `an entry has one layer: the one before it is removed, and what comes after the end is, too`() {
    let removed = Mutable<[UInt64]>([])
    let layers = OutboxLayers<String, String>(of: Canary()) { layer in removed.update { $0.append(layer.id) } }
    for id in 1...2 as ClosedRange<UInt64> { layers.add("a", layer(id)) }
    #expect(removed.value == [1])
    #expect(layers.take("a")?.id == 2 && layers.take("a") == nil)
    layers.add("b", layer(3))
    layers.dispose()
    layers.add("c", layer(4))
    #expect(removed.value == [1, 3, 4])
  }
}
