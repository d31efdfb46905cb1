/// The name of a member. Names are equal if their bytes are; `String`s are equal even if only their characters are.
struct MemberName: Hashable {
  let text: String

  init(_ text: String) {
    self.text = text
  }

  static func == (left: MemberName, right: MemberName) -> Bool {
    var (left, right) = (left.text, right.text)
    return left.withUTF8 { left in
      right.withUTF8 { right in
        guard left.count == right.count, let first = left.baseAddress, let second = right.baseAddress else {
          return left.count == right.count
        }
        return bytesAreEqual(first, second, left.count)
      }
    }
  }

  func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
