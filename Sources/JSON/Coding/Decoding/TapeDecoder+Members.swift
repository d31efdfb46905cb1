/// The values of members, by name.
extension TapeDecoder {
  func isNull(of name: String) throws -> Bool {
    document.tape[try requiredValue(of: name)].kind == .null
  }

  @inline(__always)
  func decodeMember<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value {
    let place = try requiredValue(of: name)
    return try decodeValue(type, at: place, step: .member(place - 1))
  }

  @inline(__always)
  func decodeMemberIfPresent<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
    guard let place = value(of: name), document.tape[place].kind != .null else { return nil }
    return try decodeValue(type, at: place, step: .member(place - 1))
  }

  func string(_ name: String) throws -> String { try decodeMember(String.self, name) }
  func bool(_ name: String) throws -> Bool { try decodeMember(Bool.self, name) }
  func int(_ name: String) throws -> Int { try decodeMember(Int.self, name) }
  func double(_ name: String) throws -> Double { try decodeMember(Double.self, name) }
  func stringIfPresent(_ name: String) throws -> String? { try decodeMemberIfPresent(String.self, name) }
  func boolIfPresent(_ name: String) throws -> Bool? { try decodeMemberIfPresent(Bool.self, name) }
  func intIfPresent(_ name: String) throws -> Int? { try decodeMemberIfPresent(Int.self, name) }
  func doubleIfPresent(_ name: String) throws -> Double? { try decodeMemberIfPresent(Double.self, name) }

  /// The decoder of a member, for a caller that may keep it.
  func decoder(of name: String) throws -> TapeDecoder {
    let place = try requiredValue(of: name)
    return decoder(at: place, step: .member(place - 1))
  }

  /// The super decoder for a name. If there is no such member, it decodes null, as Foundation's does.
  func superDecoder(_ name: String) -> TapeDecoder {
    if let place = value(of: name) { return decoder(at: place, step: .member(place - 1)) }
    document.absentNames.append(name)
    return decoder(at: document.tape.absent, step: .absent(document.absentNames.count - 1))
  }
}
