import StrictJSON
import SystemBase
import TestSupport
import Testing

@testable import Stores

/// Random pages of a list, against a list of which it is known which elements were seen, and which follow each other.
struct RecordPageModelTests {
  private struct Server {
    var list: [Int]

    struct Response {
      var range: Range<Int>
      let variables: [String: JSONValue]
    }

    func place(_ id: Int?) -> Int? { id.flatMap { list.firstIndex(of: $0) } }

    func forwards(after id: Int?, _ count: Int) -> Response {
      let start = place(id).map { $0 + 1 } ?? 0
      return Response(
        range: start..<min(start + count, list.count),
        variables: ["first": .integer(Int64(count))].merging(id.map { ["after": .string("c\($0)")] } ?? [:]) { $1 })
    }

    func backwards(before id: Int?, _ count: Int) -> Response {
      let end = place(id) ?? list.count
      return Response(
        range: max(end - count, 0)..<end,
        variables: ["last": .integer(Int64(count))].merging(id.map { ["before": .string("c\($0)")] } ?? [:]) { $1 })
    }

    func send(_ response: Response, to connection: inout TestConnection) throws {
      try connection.write(
        Array(list[response.range]), response.variables, hasNext: response.range.upperBound < list.count,
        hasPrevious: response.range.lowerBound > 0)
    }
  }

  /// What is known of a list: of the places in it, those that were seen; and after which of them the next one is known.
  private struct Model {
    var seen: Set<Int> = []
    var links: Set<Int> = []

    mutating func take(_ response: Server.Response, count: Int) {
      seen.formUnion(response.range)
      let isForward = response.variables["first"] != nil
      // A page is linked to the element that it was asked by, and to the end of the list if that is in it.
      let first =
        isForward || response.range.lowerBound == 0 ? response.range.lowerBound - 1 : response.range.lowerBound
      let last =
        isForward && response.range.upperBound < count ? response.range.upperBound - 1 : response.range.upperBound
      if first < last { links.formUnion(first..<last) }
    }

    /// The elements from the first on; `-` if it is not known, or if there are not as many.
    func read(_ list: [Int], _ count: Int? = nil) -> String {
      guard links.contains(-1), seen.contains(0) else { return "-" }
      var end = 0
      while links.contains(end - 1), seen.contains(end) { end += 1 }
      if let count, end < count, !links.contains(end - 1) || end < list.count { return "-" }
      return list[..<min(end, count ?? end)].map(String.init).joined(separator: ",")
    }
  }

  @Test("N11: random pages in any order and direction are what a list knows of them", arguments: 0..<20)
  func staticLists(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let server = Server(list: Array(1...Int.random(in: 1...12, using: &random)))
    var (model, connection) = (Model(), TestConnection())
    for _ in 0..<20 {
      let anchor = Bool.random(using: &random) ? server.list.randomElement(using: &random) : nil
      let count = Int.random(in: 1...4, using: &random)
      let response =
        Bool.random(using: &random)
        ? server.forwards(after: anchor, count) : server.backwards(before: anchor, count)
      try server.send(response, to: &connection)
      model.take(response, count: server.list.count)
      #expect(try connection.read(["first": 2], all: true).filter { $0 != ">" } == model.read(server.list))
      if !response.range.isEmpty { #expect(try connection.read(response.variables) != "-") }
      #expect(try connection.read(["first": 3]).filter { $0 != ">" } == model.read(server.list, 3))
    }
  }

  @Test("N11: a list that changes is the server's after all its pages have come again", arguments: 0..<20)
  func changingLists(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    var server = Server(list: Array(1...8))
    var connection = TestConnection()
    var next = 9
    for _ in 0..<30 {
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let place = Int.random(in: 0...server.list.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where place < server.list.count: server.list.remove(at: place)
        case 1 where place < server.list.count: server.list.insert(server.list.remove(at: place), at: 0)
        default:
          server.list.insert(next, at: place)
          next += 1
        }
      }
      let anchor = server.list.randomElement(using: &random)
      let count = Int.random(in: 1...4, using: &random)
      try server.send(
        Bool.random(using: &random) ? server.forwards(after: anchor, count) : server.backwards(before: anchor, count),
        to: &connection)
      let known = try connection.read(["first": 1], all: true).split(separator: ",")
      #expect(Set(known).count == known.count)
    }
    var after: Int?
    repeat {
      let response = server.forwards(after: after, 3)
      try server.send(response, to: &connection)
      after = response.range.upperBound < server.list.count ? server.list[response.range.upperBound - 1] : nil
    } while after != nil
    #expect(try connection.read(["first": 3], all: true) == server.list.map(String.init).joined(separator: ","))
  }
}
