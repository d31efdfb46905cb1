import Foundation
import GraphQLValues
import StrictJSON
import Testing

/// What generated code uses.
@Suite struct GeneratedTests {
  private struct Filter: JSONInputObject, Hashable, Sendable {
    var name: GraphQLNullable<String>
    private var _not: Indirect<GraphQLNullable<Filter>>
    var not: GraphQLNullable<Filter> {
      get { _not.wrappedValue }
      set { _not.wrappedValue = newValue }
    }

    init(name: GraphQLNullable<String> = .absent, not: GraphQLNullable<Filter> = .absent) {
      self.name = name
      _not = Indirect(wrappedValue: not)
    }

    func encode(to json: inout JSONWriter) {
      json.beginObject()
      json.member("name", name)
      json.member("not", not)
      json.endObject()
    }
  }

  @Test func `a member that is absent is left out, one that is null is null, and an object may hold its own type`()
    throws
  {
    var filter = Filter(name: "a", not: .some(Filter(name: .null, not: .some(Filter()))))
    #expect(try String(decoding: filter.json(), as: UTF8.self) == #"{"name":"a","not":{"name":null,"not":{}}}"#)
    #expect(
      try JSONValue(json: JSONEncoder().encode(filter).bytes) == ["name": "a", "not": ["name": .null, "not": [:]]])
    let copy = filter
    #expect(copy == filter)
    #expect(copy.hashValue == filter.hashValue)
    filter.not = .null
    #expect(copy != filter)
  }

  private struct Keys: JSONSelection {
    let id: String
    let other: String?
    let all: [String]
    let more: [String]?

    init(selecting json: inout JSONReader) throws(JSONError) {
      id = try json.id("id")
      other = try json.optionalID("other")
      all = try json.ids("all")
      more = try json.optionalIDs("more")
    }
  }

  @Test func `ids are read as text, whether the server sends strings or numbers`() throws {
    let keys = try Keys(json: #"{"id":7,"other":"a","all":["x",9007199254740993],"more":[1]}"#)
    #expect(keys.id == "7")
    #expect(keys.other == "a")
    #expect(keys.all == ["x", "9007199254740993"])
    #expect(keys.more == ["1"])
    let few = try Keys(json: #"{"all":[],"id":"","other":null}"#)
    #expect(few.other == nil)
    #expect(few.more == nil)
    #expect(throws: JSONError.self) { try Keys(json: #"{"id":true,"all":[]}"#) }
  }
}
