import Foundation
import GraphQLSchema
import GraphQLTesting
import TestSupport
import Testing

@testable import moments

struct RefreshContractTests {
  @Test func `the command's own session agrees with the schema`() throws {
    let schema = try Schema(parsing: String(contentsOf: RepositoryLayout.schema, encoding: .utf8))
    let findings = SessionCheck(schema).findings(in: RefreshedTokens.Refresh.self, variables: [.init(token: "t")])
    #expect(findings == [])
  }
}
