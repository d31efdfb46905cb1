/// Makes Swift names of GraphQL names: the one place that knows Swift's words, and the configured acronyms.
struct SwiftNames: Sendable {
  /// In capitals, the longest first.
  private let acronyms: [String]
  private let enumCases: GenerationConfiguration.CaseStyle

  init(_ configuration: GenerationConfiguration) {
    acronyms = Set(configuration.acronyms.map { $0.uppercased() }).sorted { ($1.count, $0) < ($0.count, $1) }
    enumCases = configuration.enumCases
  }

  /// The name of a type: `momentFields` is `MomentFields`.
  func type(_ name: String) -> String {
    let name = capitalised(Self.identifier(name))
    let underscores = name.prefix { $0 == "_" }
    let rest = name.dropFirst(underscores.count)
    return underscores + rest.prefix(1).uppercased() + rest.dropFirst()
  }

  /// The name of a property or a parameter, without what would make it a reserved word: `userId` is `userID` if `ID` is
  /// an acronym.
  func member(_ name: String) -> String {
    let name = capitalised(Self.identifier(name))
    return Self.unusable.contains(name) ? name + "_" : name
  }

  /// The name of a function or of an enum's case that is called after a type or an operation: `URLMoment` is `urlMoment`.
  func lowercasedFirst(_ name: String) -> String { member(Self.lowercasedFirst(Self.identifier(name))) }

  /// The name of an enum's case for a value of the schema.
  func enumCase(_ value: String) -> String {
    switch enumCases {
    case .asWritten: member(value)
    case .camelCase: member(Self.camelCase(value))
    }
  }

  /// `IN_PROGRESS` is `inProgress`; a value that has small letters, too, keeps them.
  private static func camelCase(_ value: String) -> String {
    let words = value.split(separator: "_")
    guard !words.isEmpty else { return identifier(value) }
    let isShouted = !value.contains { $0.isLowercase }
    var result = ""
    for (index, word) in words.enumerated() {
      let word = isShouted ? word.lowercased() : String(word)
      result += index == 0 ? lowercasedFirst(word) : word.prefix(1).uppercased() + word.dropFirst()
    }
    // A name cannot begin with a digit.
    return result.first?.isNumber == true ? "_" + result : result
  }

  /// Writes a first word in small letters: `UserRole` is `userRole`, `URLKind` is `urlKind`.
  private static func lowercasedFirst(_ name: String) -> String {
    let capitals = name.prefix { $0.isUppercase }
    guard !capitals.isEmpty else { return name }
    let rest = name.dropFirst(capitals.count)
    // The last capital belongs to the next word.
    let count = capitals.count > 1 && rest.first?.isLowercase == true ? capitals.count - 1 : capitals.count
    return name.prefix(count).lowercased() + name.dropFirst(count)
  }

  /// Writes acronyms in capitals where they are words: a capital begins a word, and so does what follows a capital letter.
  private func capitalised(_ name: String) -> String {
    guard !acronyms.isEmpty else { return name }
    var words: [String] = []
    for character in name {
      let beginsWord = character.isUppercase || character == "_" || words.last == "_"
      if beginsWord || words.isEmpty { words.append("") }
      words[words.count - 1].append(character)
    }
    // The first word of a member stays in small letters: `idOfUser`.
    for (index, word) in words.enumerated()
    where (index > 0 || word.first?.isUppercase == true) && acronyms.contains(word.uppercased()) {
      words[index] = word.uppercased()
    }
    return words.joined()
  }

  /// A name in which every character may stand in an identifier: labels may be any text.
  private static func identifier(_ name: String) -> String {
    // All but labels are names already.
    if let first = name.utf8.first, (first | 0x20) &- UInt8(ascii: "a") < 26, name.utf8.allSatisfy(\.isNameByte) {
      return name
    }
    if name.allSatisfy({ $0 == "_" }) { return "underscore" + name.dropFirst() }
    var result = ""
    var beginsWord = false
    for character in name {
      guard character == "_" || character.isASCII && (character.isLetter || character.isNumber) else {
        beginsWord = true
        continue
      }
      result += beginsWord && !result.isEmpty ? character.uppercased() : String(character)
      beginsWord = false
    }
    return result.first.map { $0.isNumber ? "_" + result : result } ?? "underscore"
  }

  /// Whether a text can be the name of a constant of a type.
  static func isConstant(_ name: String) -> Bool {
    guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else { return false }
    return name.utf8.allSatisfy(\.isNameByte) && !unusable.contains(name)
  }

  /// Whether a text has only characters of types. Whether it is one, the compiler says.
  static func isType(_ text: String) -> Bool {
    !text.isEmpty && text.allSatisfy { $0.isPartOfName || " .,:?&@`()<>[]-".contains($0) }
  }

  /// Whether a text can be the name of a module, or of a part of one.
  static func isModule(_ text: String) -> Bool {
    text.split(separator: ".", omittingEmptySubsequences: false)
      .allSatisfy { !$0.isEmpty && $0.first?.isNumber == false && $0.allSatisfy(\.isPartOfName) }
  }

  /// A name as it stands in code.
  static func escaped(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// A name as it stands before the colon of a parameter.
  static func parameter(_ name: String) -> String { ["inout", "let", "var"].contains(name) ? "`\(name)`" : name }

  /// A name as it stands before the colon of an argument.
  static func label(_ name: String) -> String { name == "inout" ? "`inout`" : name }

  /// The names that are looked up for a type that the configuration names: of `[Foundation.Date]`, `Foundation`.
  static func lookedUp(in type: String) -> [String] {
    let names = type.split { !$0.isPartOfName && $0 != "." }
    return names.compactMap { $0.split(separator: ".").first.map(String.init) }
  }

  /// Words that are no names of members, not even in backticks, or not everywhere.
  private static let unusable: Set = ["self", "Self", "Type", "Protocol", "init", "Any", "_"]

  /// Words that are names in backticks only.
  private static let keywords: Set = [
    "actor", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
    "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if",
    "import", "in", "inout", "internal", "is", "let", "nil", "open", "operator", "precedencegroup", "private",
    "protocol", "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch",
    "throw", "throws", "true", "try", "typealias", "var", "where", "while",
  ]

  /// The types that sessions have in them, and those that the session protocols ask for. In a session they hide what the module
  /// has of their names.
  static let typesOfSessions: Set = ["Parameters", "Response", "ResponseData", "ResponseType", "Session", "Variables"]

  /// The types that generated code names without their modules: a type of another meaning may not hide them.
  static let typesInUse: Set = [
    "APIClient", "Any", "Array", "Bool", "CaseIterable", "CodingKey", "CodingKeys", "Decodable", "Deferred",
    "Double", "Encodable", "Encoder", "Equatable", "GraphQLDocument", "GraphQLEnum", "GraphQLErrorPolicy",
    "GraphQLNullable", "GraphQLResponse", "GraphQLSession", "GraphQLSubscription", "GraphQLUpload", "HTTPProgress",
    "HTTPRequest", "APICall", "PossibleTypes", "Hashable",
    "IncrementalResponse", "Indirect", "Int", "JSONDecodable", "JSONEncodable", "JSONError", "JSONInputObject",
    "JSONReader", "JSONReceived", "JSONSelection", "JSONWriter", "LiveEvent", "Observable", "Optional", "Protocol",
    "ReceivedJSON", "Self", "Sendable", "Set", "String", "Type",
  ]
}

extension Character {
  /// Whether it may stand in a name of Swift.
  var isPartOfName: Bool { isLetter || isNumber || self == "_" }
}

extension UInt8 {
  fileprivate var isNameByte: Bool {
    (self | 0x20) &- UInt8(ascii: "a") < 26 || self &- UInt8(ascii: "0") < 10 || self == UInt8(ascii: "_")
  }
}

/// Hands out names, each once: of two that are equal, the later gets a suffix.
struct NameScope {
  private var taken: Set<String>

  init(_ taken: Set<String> = []) {
    self.taken = taken
  }

  /// A name that is free: the wanted one, or that with a suffix.
  mutating func take(_ name: String, suffix: String = "_") -> String {
    var name = name
    while !taken.insert(name).inserted { name += suffix }
    return name
  }
}
