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
}
