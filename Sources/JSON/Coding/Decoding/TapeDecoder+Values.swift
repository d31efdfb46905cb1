import Foundation

extension TapeDecoder {
  /// Reads the value at a place of the tape; the step leads there from this decoder's own value, where it is another.
  ///
  /// The comparisons of types are made by the compiler where the type is known, as for the members of a synthesised
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
    switch document.way(of: type) {
    case .generic: return try type.init(from: decoder(at: place, step: step))
    case .direct(let direct):
      return try converted(try self.direct(direct, as: type, at: place, step: step), at: place, step: step)
    case .dictionary(let dictionary):
      return try converted(try dictionary.decode(from: decoder(at: place, step: step)), at: place, step: step)
    case .date: return try converted(try date(at: place, step: step), at: place, step: step)
    case .data: return try converted(try data(at: place, step: step), at: place, step: step)
    case .url: return try converted(try url(at: place, step: step), at: place, step: step)
    case .decimal: return try converted(try decimal(at: place, step: step), at: place, step: step)
    }
  }

  private func converted<Value>(_ value: Any, at place: Int, step: Step?) throws -> Value {
    guard let value = value as? Value else { throw mismatch(Value.self, "\(Value.self)", at: place, step: step) }
    return value
  }

  private func direct<Direct: JSONDecodable>(
    _ type: Direct.Type, as target: Any.Type, at place: Int, step: Step?
  ) throws -> Direct {
    do throws(JSONError) {
      return try document.reading(document.tape[place]) { (json: inout JSONReader) throws(JSONError) in
        try Direct(from: &json)
      }
    } catch {
      throw DecodingError(error, type: target)
    }
  }

  /// The decoder of the value at a place.
  func decoder(at place: Int, step: Step?) -> TapeDecoder {
    guard let step else { return self }
    return TapeDecoder(document: document, place: place, parent: self, step: step)
  }

  private func string(at place: Int, step: Step?) throws -> String {
    let token = document.tape[place]
    guard token.kind == .string || token.kind == .escapedString else {
      throw mismatch(String.self, "a text", at: place, step: step)
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
      throw corrupted("Expected a whole number that fits \(type).", at: place, step: step)
    }
    return value
  }

  private func double(at place: Int, step: Step?) throws -> Double {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Double.self, "a number", at: place, step: step) }
    guard let value = try? document.reading(token, { (json) throws(JSONError) in try json.double() }) else {
      throw corrupted("Expected a number that fits Double.", at: place, step: step)
    }
    return value
  }

  private func float(at place: Int, step: Step?) throws -> Float {
    let token = document.tape[place]
    guard token.kind == .number else { throw mismatch(Float.self, "a number", at: place, step: step) }
    guard let value = Float(document.string(token)), value.isFinite else {
      throw corrupted("Expected a number that fits Float.", at: place, step: step)
    }
    return value
  }
}
