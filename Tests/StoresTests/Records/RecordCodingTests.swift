import StrictJSON
import TestSupport
import Testing

@testable import Stores

/// Records as bytes that nobody has damaged by chance: their checksum is right, and they are decoded.
@Suite struct RecordCodingTests {
  private static let users = "users(order:NEW)"

  /// The bytes of a slot with cells, by their fields' names; a list's are without.
  private static func cells(_ kind: Slot.Kind, _ cells: [(name: String, slot: [UInt8])]) -> [UInt8] {
    var bytes = [kind.rawValue]
    bytes.append(number: UInt64(cells.count))
    for (name, slot) in cells {
      if kind != .list {
        bytes.append(number: 0)
        bytes.append(text: name.utf8)
      }
      bytes += slot
    }
    return bytes
  }

  private static func list(_ slots: [[UInt8]]) -> [UInt8] { cells(.list, slots.map { ("", $0) }) }

  private static func null(_ offset: UInt64, _ count: UInt64) -> [UInt8] {
    var bytes = [Slot.Kind.null.rawValue]
    bytes.append(number: offset)
    bytes.append(number: count)
    return bytes
  }

  private static func scalar(_ text: String) -> [UInt8] {
    var bytes = [Slot.Kind.scalar.rawValue]
    bytes.append(text: text.utf8)
    return bytes
  }

  /// A run of one element.
  private static func run(start: [UInt8] = null(0, 0), end: [UInt8] = [0], cursor: [UInt8] = null(0, 0)) -> [UInt8] {
    cells(
      .object,
      [
        (" start", start), (" end", end), (" cursors", list([cursor])), ("edges", list([null(0, 0)])),
        ("nodes", list([null(0, 0)])),
      ])
  }

  private static func pages(_ runs: [[UInt8]], _ others: [(String, [UInt8])] = []) -> [UInt8] {
    cells(.pages, [(" runs", list(runs))] + others)
  }

  /// A cache whose query has these fields; `nil` if they cannot be decoded.
  private static func connection(_ fields: [(name: String, slot: [UInt8])]) -> TestConnection? {
    var bytes: [UInt8] = []
    bytes.append(.section)
    bytes.append(.entity)
    bytes += [0, 0]
    bytes.append(text: "Query".utf8)
    bytes.append(text: "".utf8)
    for (name, slot) in fields {
      bytes.append(.field)
      bytes.append(number: 0)
      bytes.append(text: name.utf8)
      bytes += slot
    }
    var connection = TestConnection()
    return (try? connection.test.cache.decode(bytes[...])) == nil ? nil : connection
  }

  /// Reads pages, writes some, and reads again, in both kinds of lists.
  private static func use(_ connection: inout TestConnection) throws {
    for variables: [String: JSONValue] in [["first": 1], ["first": 2, "after": "c1"], ["last": 2, "before": "c3"]] {
      _ = try connection.read(variables)
      try connection.write([3, 4], variables, hasNext: true, hasPrevious: true)
      _ = try connection.read(variables, all: true)
    }
    for offset in [0, 3, Int(Int32.max)] {
      let variables: [String: JSONValue] = ["offset": .integer(Int64(offset)), "limit": 1]
      _ = try connection.test.text(TestConnection.list, variables)
      try connection.test.write(TestConnection.list, #"{"list": [{"__typename": "User", "id": "1"}]}"#, variables)
      _ = try connection.test.text(TestConnection.list, variables)
    }
    var bytes: [UInt8] = []
    connection.test.cache.encodeAll(into: &bytes)
    var again = RecordCache(RecordSchema())
    #expect((try? again.decode(bytes[...])) != nil)
  }

  @Test(arguments: [(0x8000_0000, 0), (0x7FFF_FFFF, 0xFFFF_FFFF), (0xFFFF_FFFF, 0xFFFF_FFFF), (0, 0x8000_0000)])
  func `a page that begins at an impossible number is not taken`(high: UInt64, low: UInt64) throws {
    let run = Self.run(start: Self.null(high, low))
    #expect(Self.connection([("list", Self.pages([run], [(" numbered", Self.null(0, 0))]))]) == nil)
    #expect(Self.connection([(Self.users, Self.pages([Self.run(end: Self.null(high, low))]))]) == nil)
  }

  @Test func `pages of any cells end nothing`() throws {
    var random = SplitMix(seed: 11)
    var taken = 0
    for _ in 0..<300 {
      let fields = ["list", Self.users].map { ($0, Self.anyPages(&random)) }
      guard var connection = Self.connection(fields) else { continue }
      taken += 1
      try? Self.use(&connection)
    }
    #expect(taken > 30)
  }

  private static func anyPages(_ random: inout SplitMix) -> [UInt8] {
    let runs = (0..<Int.random(in: 0..<4, using: &random)).map { _ in anyRun(&random) }
    let names = [" numbered", " limit", "pageInfo", "edges", " start", "title"]
    return pages(
      runs, names.filter { _ in Bool.random(using: &random) }.map { ($0, anySlot(&random)) }.shuffled(using: &random))
  }

  private static func anyRun(_ random: inout SplitMix) -> [UInt8] {
    let count = Int.random(in: 0..<4, using: &random)
    var cells = [(" start", anyEnd(&random)), (" end", anyEnd(&random))]
    for name in [" cursors", "edges", "nodes"] {
      let size = Int.random(in: 0..<12, using: &random) == 0 ? 1 : count
      cells.append((name, list((0..<size).map { _ in anySlot(&random) })))
    }
    if Int.random(in: 0..<8, using: &random) == 0 { cells.shuffle(using: &random) }
    return Self.cells(.object, cells)
  }

  private static func anyEnd(_ random: inout SplitMix) -> [UInt8] {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: anySlot(&random)
    case 1: [0]
    case 2: null(0, UInt64(Int32.max))
    default: null(0, UInt64.random(in: 0..<5, using: &random))
    }
  }

  private static func anySlot(_ random: inout SplitMix, depth: Int = 0) -> [UInt8] {
    switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &random) {
    case 0: [0]
    case 1: null(0, 0)
    case 2: [Slot.Kind.error.rawValue]
    case 3: scalar(["\"c1\"", "\"\"", "7", "\"\\u00e9\"", "true"].randomElement(using: &random) ?? "")
    case 4, 5: [Slot.Kind.reference.rawValue, 1]
    case 6: list((0..<Int.random(in: 0..<3, using: &random)).map { _ in anySlot(&random, depth: depth + 1) })
    default:
      cells(
        .object,
        ["cursor", "node", "id", "hasNextPage"].filter { _ in Bool.random(using: &random) }
          .map { ($0, anySlot(&random, depth: depth + 1)) })
    }
  }
}
