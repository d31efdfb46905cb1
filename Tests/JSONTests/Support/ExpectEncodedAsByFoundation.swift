import Foundation
import JSON
import Testing

/// Holds what `JSONCoder` writes to what Foundation's encoder does.
func expectEncodedAsByFoundation<Value: Encodable>(
  _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let ours = try JSONCoder().encode(value)
  let theirs = try JSONEncoder().encode(value)
  #expect(
    try JSONValue(json: ours.bytes) == JSONValue(json: theirs.bytes),
    "\(String(decoding: ours, as: UTF8.self)) \(String(decoding: theirs, as: UTF8.self))",
    sourceLocation: sourceLocation)
}
