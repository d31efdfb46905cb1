import Foundation

/// A value with most of what a `Codable` type may hold, and nothing that reads or writes itself.
struct Sample: Codable, Equatable {
  enum Shade: String, Codable, CaseIterable { case light, dark }
  enum Shape: Codable, Equatable {
    case point
    case circle(radius: Double)
    case named(String, Int)
  }
  struct Inner: Codable, Equatable {
    var name: String
    var tags: [String]
    var next: [Inner]?
  }

  var text: String
  var flag: Bool
  var int: Int
  var int8: Int8
  var uint64: UInt64
  var double: Double
  var float: Float
  var optional: String?
  var nested: Inner
  var list: [Inner?]
  var byName: [String: Inner]
  var byNumber: [Int: String]
  var shade: Shade
  var shape: Shape
  var date: Date
  var data: Data
  var url: URL
  var id: UUID
  var decimal: Decimal
  var set: Set<Int>
  var userUrlName2: String?

  static func random(_ random: inout RandomJSON) -> Sample {
    Sample(
      text: random.text(), flag: random.int(0...1) == 0, int: Int(random.integer()),
      int8: Int8(random.int(-128...127)), uint64: random.generator.next(), double: random.double(),
      float: Float(random.int(-9999...9999)) / 16, optional: random.int(0...1) == 0 ? nil : random.text(),
      nested: inner(&random, depth: 2), list: (0..<random.int(0...3)).map { $0 == 1 ? nil : inner(&random, depth: 1) },
      byName: Dictionary((0..<random.int(0...20)).map { ("\(random.text())_\($0)", inner(&random, depth: 0)) }) { $1 },
      byNumber: Dictionary((0..<random.int(0...3)).map { ($0, random.text()) }) { $1 },
      shade: Shade.allCases[random.int(0...1)],
      shape: [.point, .circle(radius: random.double()), .named(random.text(), random.int(0...9))][random.int(0...2)],
      date: Date(timeIntervalSince1970: Double(random.int(0...4_000_000_000)) + 0.5),
      data: Data((0..<random.int(0...9)).map { _ in UInt8(random.int(0...255)) }),
      url: URL(filePath: "/a/\(random.int(0...9))"), id: UUID(), decimal: Decimal(random.int(-99999...99999)) / 100,
      set: Set((0..<random.int(0...4)).map { $0 * 3 }), userUrlName2: random.int(0...1) == 0 ? nil : "x")
  }

  private static func inner(_ random: inout RandomJSON, depth: Int) -> Inner {
    Inner(
      name: random.text(), tags: (0..<random.int(0...3)).map { _ in random.text() },
      next: depth > 0 ? (0..<random.int(0...2)).map { _ in inner(&random, depth: depth - 1) } : nil)
  }
}
