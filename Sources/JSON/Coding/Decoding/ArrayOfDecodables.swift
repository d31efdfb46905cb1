/// An array whose elements can be decoded.
protocol ArrayOfDecodables {
  /// Reads the elements of an array.
  static func decode(from decoder: TapeDecoder) throws -> Self
}

extension Array: ArrayOfDecodables where Element: Decodable {
  static func decode(from decoder: TapeDecoder) throws -> [Element] {
    guard decoder.token.kind == .array else {
      throw decoder.mismatch([Element].self, "an array", at: decoder.place, step: nil)
    }
    let count = Int(decoder.token.count)
    var elements: [Element] = []
    // The count comes from the text, so it is not trusted for more than this.
    elements.reserveCapacity(Swift.min(count, 1024))
    var place = decoder.place + 1
    for index in 0..<count {
      elements.append(try decoder.decodeValue(Element.self, at: place, step: .element(index)))
      place = Int(decoder.document.tape[place].next)
    }
    return elements
  }
}
