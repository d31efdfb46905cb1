import Foundation
import HTTPTestSupport
import Testing

@testable import HTTPClientCore
@testable import HTTPMiddlewares

@Suite("State of middlewares for each origin")
struct OriginTableTests {
  private let origins: [HTTPOrigin]

  init() throws {
    origins = try (0...1024).map { HTTPOrigin(of: try url("https://h\($0)/")) }
  }

  @Test func `ever new origins leave no more than the limit, and one in use is kept`() {
    let table = OriginTable(limit: 8) { 0 }
    for (number, origin) in origins.enumerated().dropFirst() {
      table.withValue(of: origins[0]) { $0 += 1 }
      table.withValue(of: origin) { $0 = number }
      #expect(table.count <= 8)
    }
    #expect(table.withValue(of: origins[0]) { $0 } == 1024)
    #expect(table.withValue(of: origins[1024]) { $0 } == 1024)
    #expect(table.withValue(of: origins[1]) { $0 } == 0)
  }

  @Test func `a budget forgets what was not used for longest`() {
    let budget = RetryBudget(reserve: 1)
    #expect(budget.withdraw(for: origins[0]))
    #expect(!budget.withdraw(for: origins[0]))
    for origin in origins.dropFirst() { #expect(budget.withdraw(for: origin)) }
    #expect(budget.withdraw(for: origins[0]))
    #expect(!budget.withdraw(for: origins[1024]))
  }

  @Test func `owners are told apart by all of their tokens, not by the ends alone`() {
    let end = String(repeating: "x", count: 100)
    let owners: [RequestOwners.TokenOwner] = [
      .token("a\(end)"), .token("b\(end)"), .token(end), .token(""), .account("a\(end)"),
    ]
    let table = RecentTable<RequestOwners.TokenOwner, Int> { 0 }
    for _ in 0..<2 { for (number, owner) in owners.enumerated() { table.withValue(of: owner) { $0 += number } } }
    #expect(owners.map { owner in table.withValue(of: owner) { $0 } } == [0, 2, 4, 6, 8])
  }

  @Test func `owners that are alike in part of their names have hashes of their own`() {
    let part = String(repeating: "x", count: 100)
    let owners = (0..<100).flatMap { number -> [RequestOwners.TokenOwner] in
      let number = String(number)
      return [.token(number + part), .token(part + number), .token(part + number + part)]
    }
    #expect(Set(owners.map(\.hashValue)).count == owners.count)
  }
}
