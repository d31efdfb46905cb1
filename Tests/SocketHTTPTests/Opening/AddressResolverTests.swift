import Foundation
import Streams
import SystemBase
import TestSupport
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

@Suite struct AddressResolverTests {
  @Test func `a name that no exchange waits for is not looked up`() async throws {
    let (names, gate, answers) = (Monitor<[String]>([]), DispatchSemaphore(value: 0), Monitor(0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        names.update { $0.append(host) }
        gate.wait()
        return .success([])
      }, whenSlow: Self.never)
    let count: AddressResolver.Completion = { _ in answers.update { $0 += 1 } }
    // As many as are looked up at once.
    for number in 0..<32 { _ = resolver.lookUp("\(number)", port: 80, count) }
    try await names.wait { $0.count == 32 }
    resolver.lookUp("left", port: 80, count).dispose()
    let one = resolver.lookUp("shared", port: 80, count)
    _ = resolver.lookUp("shared", port: 80, count)
    one.dispose()
    for _ in 0..<33 { gate.signal() }
    try await answers.wait { $0 == 33 }
    #expect(names.value.last == "shared")
    #expect(!names.value.contains("left"))
    // Asked for again, it is looked up after all.
    _ = resolver.lookUp("left", port: 80, count)
    gate.signal()
    try await answers.wait { $0 == 34 }
    #expect(names.value.last == "left")
  }

  @Test func `a look-up that ends disposes its timer`() async throws {
    let (disposed, answers) = (Monitor(0), Monitor(0))
    let resolver = AddressResolver(
      lookUp: { _, _ in .success([]) },
      whenSlow: { _ in Disposables.create { disposed.update { $0 += 1 } } })
    for number in 0..<10 { _ = resolver.lookUp("\(number)", port: 80) { _ in answers.update { $0 += 1 } } }
    try await answers.wait { $0 == 10 }
    #expect(disposed.value == 10)
  }

  /// A timer for which no look-up is slow, however long a busy machine takes.
  private static let never: AddressResolver.WhenSlow = { _ in Disposables.create() }

  /// A timer for which every look-up is slow.
  private static let atOnce: AddressResolver.WhenSlow = { action in
    action()
    return Disposables.create()
  }

  @Test func `look-ups that hang delay neither other names nor new exchanges`() async throws {
    let (names, answers) = (Monitor<[String]>([]), Monitor<[String]>([]))
    let (timers, gate) = (Monitor<[@Sendable () -> Void]>([]), DispatchSemaphore(value: 0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        let isFirst = names.update { names in
          names.append(host)
          return names.count <= 32
        }
        if isFirst { gate.wait() }
        return .success([])
      },
      whenSlow: { timer in
        timers.update { $0.append(timer) }
        return Disposables.create()
      })
    @Sendable func answer(_ text: String) -> AddressResolver.Completion {
      { _ in answers.update { $0.append(text) } }
    }
    for number in 0..<32 { _ = resolver.lookUp("\(number)", port: 80, answer("hung")) }
    try await names.wait { $0.count == 32 }
    _ = resolver.lookUp("other", port: 80, answer("other"))
    #expect(names.value.count == 32)
    for timer in timers.value { timer() }
    try await answers.wait { $0 == ["other"] }
    _ = resolver.lookUp("0", port: 80, answer("newcomer"))
    try await answers.wait { $0 == ["other", "newcomer"] }
    for _ in 0..<32 { gate.signal() }
    try await answers.wait { $0.count == 34 }
  }

  @Test func `newcomers to one name that hangs do not take all places`() async throws {
    let (names, answers, gate) = (Monitor<[String]>([]), Monitor<[String]>([]), DispatchSemaphore(value: 0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        names.update { $0.append(host) }
        if host == "dead" { gate.wait() }
        return .success([])
      }, whenSlow: Self.atOnce)
    for number in 1...100 {
      _ = resolver.lookUp("dead", port: 80) { _ in answers.update { $0.append("dead") } }
      try await names.wait { $0.count >= min(number, 4) }
    }
    _ = resolver.lookUp("other", port: 80) { _ in answers.update { $0.append("other") } }
    try await answers.wait { $0 == ["other"] }
    #expect(names.value == ["dead", "dead", "dead", "dead", "other"])
    for _ in 0..<4 { gate.signal() }
    try await answers.wait { $0.count == 101 }
  }

  @Test func `look-ups that hang are bounded in number`() async throws {
    let (names, answers, gate) = (Monitor<[String]>([]), Monitor(0), DispatchSemaphore(value: 0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        names.update { $0.append(host) }
        gate.wait()
        return .success([])
      }, whenSlow: Self.atOnce)
    for number in 0..<300 { _ = resolver.lookUp("\(number)", port: 80) { _ in answers.update { $0 += 1 } } }
    try await names.wait { $0.count == 256 }
    gate.signal()
    try await names.wait { $0.count == 257 }
    for _ in 0..<299 { gate.signal() }
    try await answers.wait { $0 == 300 }
    #expect(names.value.count == 300)
  }

  /// A resolver for which names hang that begin with `dead`, until a gate lets them go.
  private func resolver(
    _ gate: DispatchSemaphore, _ begun: Monitor<[String]>, now: @escaping @Sendable () -> Instant = { .now }
  ) -> AddressResolver {
    AddressResolver(
      lookUp: { host, _ in
        begun.update { $0.append(host) }
        if host.hasPrefix("dead") { gate.wait() }
        return .success([])
      }, whenSlow: Self.atOnce, now: now)
  }

  @Test func `a new name is looked up while a hundred others hang`() async throws {
    let (gate, begun, answered) = (DispatchSemaphore(value: 0), Monitor<[String]>([]), Latch())
    let resolver = resolver(gate, begun)
    defer { for _ in 0..<100 { gate.signal() } }
    for number in 0..<100 { _ = resolver.lookUp("dead\(number)", port: 80) { _ in } }
    _ = resolver.lookUp("new", port: 80) { _ in answered.open() }
    try await answered.wait(for: "the new name", within: .seconds(10))
  }

  @Test func `a name that was found before is looked up however many others hang`() async throws {
    let (gate, begun) = (DispatchSemaphore(value: 0), Monitor<[String]>([]))
    let resolver = resolver(gate, begun)
    defer { for _ in 0..<1000 { gate.signal() } }
    for round in 0..<2 {
      let answered = Latch()
      _ = resolver.lookUp("good", port: 80) { _ in answered.open() }
      try await answered.wait(for: "the name that has been answered", within: .seconds(10))
      guard round == 0 else { break }
      for number in 0..<1000 { _ = resolver.lookUp("dead\(number)", port: 80) { _ in } }
      try await begun.wait { $0.count == 257 }
    }
  }

  @Test func `names that hung do not take the places of new ones when they are looked up again`() async throws {
    let (gate, begun, clock) = (DispatchSemaphore(value: 0), Monitor<[String]>([]), Locked(Instant.now))
    let (answers, answered) = (Monitor(0), Latch())
    let resolver = resolver(gate, begun) { clock.withLock { $0 } }
    defer { for _ in 0..<256 { gate.signal() } }
    for number in 0..<256 { _ = resolver.lookUp("dead\(number)", port: 80) { _ in answers.update { $0 += 1 } } }
    try await begun.wait { $0.count == 256 }
    clock.withLock { $0 = $0 + .seconds(10) }
    for _ in 0..<256 { gate.signal() }
    try await answers.wait { $0 == 256 }
    for number in 0..<256 { _ = resolver.lookUp("dead\(number)", port: 80) { _ in } }
    _ = resolver.lookUp("new", port: 80) { _ in answered.open() }
    try await answered.wait(for: "the new name", within: .seconds(10))
    #expect(begun.value.count <= 256 + 64 + 1)
  }
}
