import CAllocations
import Foundation
import GraphQLClient
import Stores
import Streams
import StrictJSON
import Synchronization

/// Measures what a normalised cache adds to a request, and what it takes to read and to watch, beside a cache of
/// dictionaries.
///
///     NormalizedBenchmarks [ROUNDS]
@main
enum Main {
  static func main() throws {
    let rounds = max(5, CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 9)
    var table = Table(rounds: rounds)
    try measureResponses(Feed(momentCount: 300), count: 100, in: &table)
    try measureResponses(Feed(momentCount: 30_000), count: 2, in: &table)
    try measureWatchers(in: &table)
    try measureWarmReads(in: &table)
    try measureMemory(in: &table)
    for miss in table.misses { print("\nmissed: \(miss)") }
    exit(table.misses.isEmpty ? 0 : 1)
  }

  private static func store(
    _ server: FeedServer, _ change: (inout NormalizedConfiguration) -> Void = { _ in }
  ) throws -> NormalizedStore {
    var configuration = NormalizedConfiguration()
    change(&configuration)
    return try NormalizedStore(server.client(), schema: RecordSchema(Feed.schema), configuration: configuration)
  }

  /// What it takes to write and to read responses, for each 100 KB.
  private static func measureResponses(_ feed: Feed, count: Int, in table: inout Table) throws {
    let body = feed.body
    let server = FeedServer(body)
    let client = try server.client()
    // What one operation has read is not kept when another has read the same, which is then read from the records.
    let readers = try (0..<2).map { _ in try store(server) { $0.memoryCount = 1 } }
    _ = try readers[0].get(GetFeedBytes(), .networkOnly).first()
    _ = try readers[1].get(GetFeed(), .networkOnly).first()
    let again = try store(server)
    _ = try again.get(GetFeedBytes(), .networkOnly).first()
    let changing = try store(server)
    _ = try changing.get(GetFeedBytes(), .networkOnly).first()
    // In the middle, with as many bytes.
    let changed = feed.changed(feed.momentCount / 2)
    // Stores that know the operation, and have nothing.
    var empty: [NormalizedStore] = []
    let prepare = { () throws in
      server.body = Feed.empty
      empty = try (0..<count).map { _ in try store(server) }
      for store in empty { _ = try store.get(GetFeedBytes(), .networkOnly).first() }
      server.body = body
    }
    let data = body.dropFirst(#"{"data":"#.utf8.count).dropLast()
    var number = 0
    Table.printHead("\(body.count) bytes, \(feed.momentCount * 8 / 5) entities: for each 100 KB")
    let times = try table.measure(
      [
        Table.Row(
          name: "request", work: { try GetFeedBytes().post(on: client).first().data.count }, count: count),
        Table.Row(
          name: "request, written, read",
          work: { try empty.removeLast().get(GetFeedBytes(), .networkOnly).first().value?.count ?? 0 },
          count: count, prepare: prepare),
        Table.Row(
          name: "request, the same written again, read",
          work: { try again.get(GetFeedBytes(), .networkOnly).first().value?.count ?? 0 }, count: count),
        Table.Row(
          name: "request, written again with another title, read",
          work: {
            number += 1
            server.body = number % 2 == 0 ? body : changed
            defer { server.body = body }
            return try changing.get(GetFeedBytes(), .networkOnly).first().value?.count ?? 0
          }, count: count),
        Table.Row(
          name: "read to bytes",
          work: {
            number += 1
            return try readers[0].get(GetFeedBytes(number % 2), .cacheOnly).first().value?.count ?? 0
          }, count: count),
        Table.Row(
          name: "read to typed values",
          work: {
            number += 1
            return try readers[1].get(GetFeed(number % 2), .cacheOnly).first().value?.feed.count ?? 0
          }, count: count),
        Table.Row(
          name: "bytes, checked by their reader",
          work: { try JSONCoder().decode(GetFeedBytes.ResponseData.self, from: data).count }, count: count),
        Table.Row(
          name: "dictionaries: parsed, written, read",
          work: {
            var cache = DictionaryCache()
            _ = try cache.write(body, field: "feed")
            return cache.read(field: "feed").names.count
          }, count: max(1, count / 10)),
      ], scale: Double(body.count) / 100_000)
    table.expect("first write", times[1] - times[0] - times[4], atMost: 250)
    table.expect("the same written again", times[2] - times[0], atMost: 150)
    table.expect("read to bytes", times[4] - times[6], atMost: 110)
    table.expect("read to typed values", times[5], atMost: 330)
    table.expect("dictionaries over request, written, read", times[7] / times[1], atLeast: 6)
  }

  private struct Title: Codable, Sendable { var title: String? }

  /// One field changes, which one operation of 480 entities shows, and 10,000 watchers of other entities do not.
  private static func measureWatchers(in table: inout Table) throws {
    let card: GraphQLDocument = "fragment card on Moment { title }"
    let bag = DisposeBag()
    let shown = Atomic(0)
    let wakes = Atomic(0)
    func watched(by count: Int) throws -> NormalizedStore {
      let server = FeedServer(Feed(momentCount: 11_000).body)
      let store = try store(server)
      _ = try store.get(GetFeedBytes(1), .networkOnly).first()
      server.body = Feed(momentCount: 300).body
      _ = try store.get(GetFeedBytes(), .networkOnly).first()
      for number in 0..<count {
        store.values(Title.self, card, of: EntityID("Moment", id: "m\(1_000 + number)"))
          .subscribe(onNext: { _ in wakes.wrappingAdd(1, ordering: .relaxed) }).disposed(by: bag)
      }
      store.stream(GetFeedBytes(), .cacheOnly)
        .subscribe(onNext: { _ in shown.wrappingAdd(1, ordering: .relaxed) }).disposed(by: bag)
      return store
    }
    var number = 0
    func change(_ store: NormalizedStore) -> Table.Work {
      {
        number += 1
        let before = shown.load(ordering: .relaxed)
        try store.update(Title.self, card, of: EntityID("Moment", id: "m7")) { $0.title = "Title \(number)" }
        return shown.load(ordering: .relaxed) - before
      }
    }
    let (alone, among) = (try watched(by: 0), try watched(by: 10_000))
    let woken = wakes.load(ordering: .relaxed)
    var cache = DictionaryCache()
    _ = try cache.write(Feed(momentCount: 300).body, field: "feed")
    let watchers = (0..<10_000).map { Set(["Moment:m\(1_000 + $0).title"]) } + [cache.read(field: "feed").names]
    Table.printHead("one changed field, which one operation of 480 entities shows")
    let times = try table.measure([
      Table.Row(name: "change, read", work: change(alone), count: 200),
      Table.Row(name: "change, read, among 10,000 watchers of others", work: change(among), count: 200),
      Table.Row(
        name: "dictionaries: change, read, among 10,000 watchers of others",
        work: {
          number += 1
          let woken = cache.set("title", to: "Title \(number)", of: "Moment:m7", watchers: watchers)
          return woken + cache.read(field: "feed").names.count
        }, count: 20),
    ])
    table.expect("what 10,000 watchers of others add", times[1] - times[0], atMost: 10)
    if wakes.load(ordering: .relaxed) != woken { table.miss("watchers of others were woken") }
  }

  /// What a read of a value that is decoded takes, beside `Store`.
  private static func measureWarmReads(in table: inout Table) throws {
    let plain = Store<Int, Int>(.ofStream { .just($0) })
    _ = try plain.get(1, .cacheFirst).first()
    let normalized = try store(FeedServer(Feed(momentCount: 300).body))
    _ = try normalized.get(GetFeed(), .cacheFirst).first()
    Table.printHead("warm reads")
    let times = try table.measure([
      Table.Row(name: "`Store`", work: { try plain.get(1, .cacheFirst).first().value ?? 0 }, count: 20_000),
      Table.Row(
        name: "`NormalizedStore`",
        work: { try normalized.get(GetFeed(), .cacheFirst).first().value?.feed.count ?? 0 }, count: 20_000),
    ])
    table.expect("a warm read over `Store`'s", times[1] / times[0], atMost: 2)
  }

  /// What the records of 10,000 items take in memory.
  private static func measureMemory(in table: inout Table) throws {
    let body = Feed(momentCount: 10_000).body
    let server = FeedServer(body)
    let store = try store(server) { $0.memoryCount = 1 }
    server.body = Feed.empty
    _ = try store.get(GetFeedBytes(1), .networkOnly).first()
    let before = allocated_bytes()
    server.body = body
    _ = try store.get(GetFeedBytes(), .networkOnly).first()
    let withValue = Double(allocated_bytes() - before) / Double(body.count)
    // What was read is no longer kept, only the records.
    server.body = Feed.empty
    _ = try store.get(GetFeedBytes(1), .networkOnly).first()
    let records = Double(allocated_bytes() - before) / Double(body.count)
    print("\n| 10,000 items in memory, in terms of their JSON | | ceiling |\n|---|---|---|")
    table.expect("with the bytes that were read", withValue, atMost: 4)
    table.expect("the records", records, atMost: 3)
    withExtendedLifetime(store) {}
  }
}
