import Foundation
import Streams
import TestSupport
import Testing

@testable import HTTP

@Suite struct AddressResolverTests {
  @Test func `a name that nobody waits for any more is not looked up`() async throws {
    let (names, gate, answers) = (Monitor<[String]>([]), DispatchSemaphore(value: 0), Monitor(0))
    let resolver = AddressResolver { host, _ in
      names.update { $0.append(host) }
      gate.wait()
      return .success([])
    }
    let count: AddressResolver.Completion = { _ in answers.update { $0 += 1 } }
    // As many as are looked up at once.
    for number in 0..<8 { _ = resolver.lookUp("\(number)", port: 80, count) }
    try await names.wait { $0.count == 8 }
    resolver.lookUp("left", port: 80, count).dispose()
    let one = resolver.lookUp("shared", port: 80, count)
    _ = resolver.lookUp("shared", port: 80, count)
    one.dispose()
    for _ in 0..<9 { gate.signal() }
    try await answers.wait { $0 == 9 }
    #expect(names.value.last == "shared" && !names.value.contains("left"))
    // Asked for again, it is looked up after all.
    _ = resolver.lookUp("left", port: 80, count)
    gate.signal()
    try await answers.wait { $0 == 10 }
    #expect(names.value.last == "left")
  }

  @Test func `look-ups that hang hold up neither other names nor newcomers`() async throws {
    let (names, answers) = (Monitor<[String]>([]), Monitor<[String]>([]))
    let (timers, gate) = (Monitor<[@Sendable () -> Void]>([]), DispatchSemaphore(value: 0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        let isFirst = names.update { names in
          names.append(host)
          return names.count <= 8
        }
        if isFirst { gate.wait() }
        return .success([])
      }, whenSlow: { timer in timers.update { $0.append(timer) } })
    @Sendable func answer(_ text: String) -> AddressResolver.Completion {
      { _ in answers.update { $0.append(text) } }
    }
    for number in 0..<8 { _ = resolver.lookUp("\(number)", port: 80, answer("hung")) }
    try await names.wait { $0.count == 8 }
    _ = resolver.lookUp("other", port: 80, answer("other"))
    #expect(names.value.count == 8)
    for timer in timers.value { timer() }
    try await answers.wait { $0 == ["other"] }
    _ = resolver.lookUp("0", port: 80, answer("newcomer"))
    try await answers.wait { $0 == ["other", "newcomer"] }
    for _ in 0..<8 { gate.signal() }
    try await answers.wait { $0.count == 10 }
  }

  @Test func `newcomers to one name that hangs do not take all places`() async throws {
    let (names, answers, gate) = (Monitor<[String]>([]), Monitor<[String]>([]), DispatchSemaphore(value: 0))
    let resolver = AddressResolver(
      lookUp: { host, _ in
        names.update { $0.append(host) }
        if host == "dead" { gate.wait() }
        return .success([])
      }, whenSlow: { $0() })
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
      }, whenSlow: { $0() })
    for number in 0..<80 { _ = resolver.lookUp("\(number)", port: 80) { _ in answers.update { $0 += 1 } } }
    try await names.wait { $0.count == 64 }
    gate.signal()
    try await names.wait { $0.count == 65 }
    for _ in 0..<79 { gate.signal() }
    try await answers.wait { $0 == 80 }
    #expect(names.value.count == 80)
  }
}
