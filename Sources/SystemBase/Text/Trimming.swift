extension StringProtocol {
  /// The text without the spaces and tabs around it, as the values of HTTP's fields are read (RFC 9110, section 5.5).
  package var trimmed: Substring {
    let (text, isOfText) = (Substring(self), { (byte: UInt8) in byte != 0x20 && byte != 0x09 })
    guard let start = text.utf8.firstIndex(where: isOfText), let last = text.utf8.lastIndex(where: isOfText) else {
      return ""
    }
    return text[start..<text.utf8.index(after: last)]
  }
}
