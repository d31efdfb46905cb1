import Foundation

extension TapeDecoder {
  /// Reads the value at a place of the tape. `step` leads there from this decoder's own value; it is nil for that value
  /// itself.
  ///
  /// The compiler resolves the comparisons of types if it knows the type, as for the members of a synthesised
  /// `init(from:)`.
  @inline(__always)
  func decodeValue<Value: Decodable>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    if type == String.self { return unsafeBitCast(try string(at: place, step: step), to: type) }
    if type == Bool.self { return unsafeBitCast(try bool(at: place, step: step), to: type) }
    if type == Int.self { return unsafeBitCast(try integer(Int.self, at: place, step: step), to: type) }
    if type == Double.self { return unsafeBitCast(try double(at: place, step: step), to: type) }
    if type == Float.self { return unsafeBitCast(try float(at: place, step: step), to: type) }
    if type == Int64.self { return unsafeBitCast(try integer(Int64.self, at: place, step: step), to: type) }
    if type == Int32.self { return unsafeBitCast(try integer(Int32.self, at: place, step: step), to: type) }
    if type == Int16.self { return unsafeBitCast(try integer(Int16.self, at: place, step: step), to: type) }
    if type == Int8.self { return unsafeBitCast(try integer(Int8.self, at: place, step: step), to: type) }
    if type == UInt.self { return unsafeBitCast(try integer(UInt.self, at: place, step: step), to: type) }
    if type == UInt64.self { return unsafeBitCast(try integer(UInt64.self, at: place, step: step), to: type) }
    if type == UInt32.self { return unsafeBitCast(try integer(UInt32.self, at: place, step: step), to: type) }
    if type == UInt16.self { return unsafeBitCast(try integer(UInt16.self, at: place, step: step), to: type) }
    if type == UInt8.self { return unsafeBitCast(try integer(UInt8.self, at: place, step: step), to: type) }
    return try decodeOther(type, at: place, step: step)
  }

  private func decodeOther<Value: Decodable>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    switch document.strategy(of: type) {
    case .generic: return try lendingDecoder(at: place, step: step) { try type.init(from: $0) }
    case .strings:
      return unsafeBitCast(try lendingDecoder(at: place, step: step) { try [String].decode(from: $0) }, to: type)
    case .array(let array): return try lendingDecoder(at: place, step: step) { try $0.decode(array, as: type) }
    case .dictionary(let map): return try lendingDecoder(at: place, step: step) { try $0.decode(map, as: type) }
    case .direct(let direct): return try self.direct(direct, as: type, at: place, step: step)
    case .date: return unsafeBitCast(try date(at: place, step: step), to: type)
    case .data: return unsafeBitCast(try data(at: place, step: step), to: type)
    case .url: return unsafeBitCast(try url(at: place, step: step), to: type)
    case .decimal: return unsafeBitCast(try decimal(at: place, step: step), to: type)
    }
  }

  // The cast is safe, though the compiler cannot know: a strategy is kept under its own type, so the two types are the
  // same.

  private func decode<Elements: ArrayOfDecodables, Value>(_ array: Elements.Type, as type: Value.Type) throws -> Value {
    unsafeBitCast(try array.decode(from: self), to: type)
  }

  private func decode<Map: StringKeyedDictionary, Value>(_ map: Map.Type, as type: Value.Type) throws -> Value {
    unsafeBitCast(try map.decode(from: self), to: type)
  }

  private func direct<Direct: JSONDecodable, Value>(
    _ direct: Direct.Type, as type: Value.Type, at place: Int, step: Step?
  ) throws -> Value {
    let token = document.tape[place]
    do throws(JSONError) {
      let value = try document.reading(token) { (json: inout JSONReader) throws(JSONError) in
        try Direct(from: &json)
      }
      return unsafeBitCast(value, to: type)
    } catch {
      throw DecodingError(error.inside(path(to: step), from: token.start), type: type)
    }
  }

  func string(at place: Int, step: Step?) throws -> String {
    let token = document.tape[place]
    guard token.kind == .string || token.kind == .escapedString else {
      throw mismatch(String.self, "a string", at: place, step: step)
    }
    return document.string(token)
  }

  private func bool(at place: Int, step: Step?) throws -> Bool {
    let token = document.tape[place]
    guard token.kind == .boolean else { throw mismatch(Bool.self, "true or false", at: place, step: step) }
    return token.count == 4
  }

  private func integer<Value: FixedWidthInteger>(_ type: Value.Type, at place: Int, step: Step?) throws -> Value {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(type, "a whole number", at: place, step: step) }
    guard let value = try? document.reading(token, { (json) throws(JSONError) in try json.integer(type) }) else {
      throw corrupted(.outOfRange, "a whole number that fits \(type)", at: place, step: step)
    }
    return value
  }

  private func double(at place: Int, step: Step?) throws -> Double {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Double.self, "a number", at: place, step: step) }
    guard let value = try? document.reading(token, { (json) throws(JSONError) in try json.double() }) else {
      throw corrupted(.outOfRange, "a number that fits Double", at: place, step: step)
    }
    return value
  }

  private func float(at place: Int, step: Step?) throws -> Float {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Float.self, "a number", at: place, step: step) }
    guard let value = Float(document.string(token)), value.isFinite else {
      throw corrupted(.outOfRange, "a number that fits Float", at: place, step: step)
    }
    return value
  }
}
