import GraphQLClient
import StoresTestSupport
import Streams
import StreamsTesting
import StrictJSON
import SystemBase
import Testing

@testable import Stores

/// Responses that say again what the one before has said: they are only compared with it.
@Suite struct NormalizedRepeatTests {
  /// A response as the records write it themselves, and others with the same values.
  static let forms = [
    #"{"issue":{"__typename":"Issue","id":"1","title":"a","state":"OPEN"}}"#,
    #"{"issue": {"__typename": "Issue", "id": "1", "title": "a", "state": "OPEN"}}"#,
    #"{"issue":{"state":"OPEN","title":"a","id":"1","__typename":"Issue"}}"#,
  ]

  private func request(_ json: String, _ world: NormalizedWorld) {
    let get = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server.last.data(json)
    get.dispose()
  }

  /// Whether a response, if it came now, would only be compared.
  private func isRepeated(_ json: String, _ world: NormalizedWorld, _ id: String = "1") throws -> Bool {
    let response = GraphQLResponse(data: PaddedBytes(json.utf8.span.bytes))
    let key = try NormalizedKey(GetIssue(id), by: JSONCoder())
    return world.store.records.withLock { records in
      let change = records.begin()
      defer { _ = records.end(change) }
      return records.isRepeated(response, of: key, by: change)
    }
  }

  @Test(arguments: forms) func `a response that comes again is only compared`(json: String) throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(json)
    #expect(try isRepeated(json, world))
    request(json, world)
    #expect(try isRepeated(json, world))
    #expect(one.take().last?.brief == "1 a OPEN network")
    let other = json.replacing("OPEN", with: "DONE")
    #expect(try !isRepeated(other, world))
    request(other, world)
    #expect(try isRepeated(other, world))
    #expect(try !isRepeated(json, world))
    #expect(one.take().last?.brief == "1 a DONE network")
  }

  @Test(arguments: forms) func `a response that comes again undoes what has changed since`(json: String) throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(json)
    try world.store.receive(["rename": ["id": "1", "title": "b"]], of: RenameIssue("1", "b"))
    #expect(one.take().last?.value?.description == "1 b OPEN")
    #expect(try !isRepeated(json, world))
    request(json, world)
    #expect(one.take().last?.value?.description == "1 a OPEN")
  }

  @Test(arguments: forms) func `a response that comes again brings back what was removed`(json: String) throws {
    let world = try NormalizedWorld()
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(json)
    world.store.invalidate(EntityID("Issue", id: "1"), field: "title")
    #expect(try !isRepeated(json, world))
    world.server.last.data(json)
    #expect(world.store.missingPath(of: GetIssue("1")) == nil)
    #expect(one.take().last?.brief == "1 a OPEN network")
  }

  @Test func `a response is written while an older request is in progress, to hide what that brings`() throws {
    let world = try NormalizedWorld()
    let json = Self.forms[0]
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(json)
    let older = Recorder(world.store.get(GetIssuesWithIDs(), .networkOnly))
    #expect(try !isRepeated(json, world))
    let newer = Recorder(world.store.get(GetIssue("1"), .networkOnly))
    world.server[2].data(json)
    world.server[1].data(issues(("1", "old"), ("2", "x")))
    #expect(one.take().last?.value?.description == "1 a OPEN")
    #expect(older.take().last?.value?.description == "1:a,2:x")
    withExtendedLifetime(newer) {}
  }

  @Test func `a response is written whose fields become younger by it`() throws {
    let world = try NormalizedWorld { $0.staleTimes = ["Issue.state": .seconds(1)] }
    let one = Recorder(world.store.stream(GetIssue("1")))
    world.server[0].data(Self.forms[0])
    #expect(try !isRepeated(Self.forms[0], world))
    withExtendedLifetime(one) {}
  }

  @Test func `a response with errors, and one that nothing was read of, are written`() throws {
    let world = try NormalizedWorld()
    let json = #"{"issue":null}"#
    let get = Recorder(world.store.stream(GetIssue("1", errorPolicy: .all)))
    world.server[0].answer(#"{"data":\#(json),"errors":[{"message":"m","path":["issue"]}]}"#)
    #expect(try !isRepeated(json, world))
    #expect(try !isRepeated(json, world, "2"))
    withExtendedLifetime(get) {}
  }
}
