import GraphQLClient
import GraphQLSchema
import GraphQLTesting
import SystemBase
import Testing

@testable import starter

/// The sessions, and all that a server with the schema may send.
@Suite struct ContractTests {
  @Test func `the sessions agree with the schema`() throws {
    let check = SessionCheck(try embeddedBackend().schema)
    #expect(check.findings(in: ParcelsSession.Session.self) == [])
    let deliver = DeliverSession.Session(parcel: "P-1")
    #expect(check.findings(in: DeliverSession.Session.self, variables: [deliver.variables]) == [])
    #expect(check.findings(in: ParcelChangedSession.Session.self) == [])
  }
}
