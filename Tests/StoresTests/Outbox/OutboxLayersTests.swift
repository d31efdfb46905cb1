import StoresTestSupport
import Testing

@testable import Stores

@Suite struct OutboxLayersTests {
  private func layer(_ id: UInt64) -> Layer<String, String> {
    Layer(id: id, key: nil, isInOrder: true, apply: { _, value in value })
  }

  @Test func `an entry has one layer: the one before it is not shown any more, nor is what comes after the end`() {
    let layers = OutboxLayers<Layer<String, String>>(of: Canary())
    #expect(layers.add("a", layer(1)) == nil)
    #expect(layers.add("a", layer(2))?.id == 1)
    #expect(layers.take("a")?.id == 2)
    #expect(layers.take("a") == nil)
    #expect(layers.add("b", layer(3)) == nil)
    #expect(layers.end().map(\.id) == [3])
    #expect(layers.add("c", layer(4))?.id == 4)
  }
}
