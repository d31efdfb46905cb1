extension CommandLine {
  /// The process's arguments, without the command's own name. One that is no text would be another one after Swift's
  /// repair, such as another file, and is refused.
  package static func validArguments() throws(UsageError) -> [String] {
    var texts: [String] = []
    for position in 1..<max(1, Int(argc)) {
      guard let bytes = unsafeArgv[position] else { break }
      guard let text = String(validatingCString: bytes) else {
        throw UsageError("argument \(position) is not valid UTF-8")
      }
      texts.append(text)
    }
    return texts
  }
}
