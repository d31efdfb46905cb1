import StrictJSON
import Testing

/// A text, with the value it stands for where that matters.
struct JSONCase: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let value: JSONValue?

  init(_ name: String, _ text: String, _ value: JSONValue? = nil) {
    self.init(name, Array(text.utf8), value)
  }

  init(_ name: String, _ bytes: [UInt8], _ value: JSONValue? = nil) {
    self.name = name
    self.bytes = bytes
    self.value = value
  }

  /// A text in quotes with these bytes inside.
  static func text(_ name: String, _ bytes: [UInt8]) -> JSONCase {
    JSONCase(name, [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")])
  }

  var testDescription: String { name }
}

extension JSONValue {
  /// A number that only its text has.
  static func exactly(_ text: String) -> JSONValue { JSONNumber(text).map(JSONValue.literal) ?? .null }
}

/// Texts that must be read, that must not, and that a reader may decide about: those of the known suite, by its names,
/// and more of the same kind.
enum JSONCases {
  static let accepted: [JSONCase] = [
    // Arrays.
    JSONCase("empty array", "[]", []),
    JSONCase("array with spaces", "[[]   ]", [[]]),
    JSONCase("array ending with a newline", "[\"a\"\n]", ["a"]),
    JSONCase(
      "array of all kinds", "[null, 1, \"1\", {}, [], true, false, 1.5]", [.null, 1, "1", [:], [], true, false, 1.5]),
    JSONCase("array with leading space", " [1]", [1]),
    JSONCase("array with nulls", "[1,null,null,null,2]", [1, .null, .null, .null, 2]),
    JSONCase("array with trailing space", "[2] \r\n\t", [2]),
    JSONCase("empty text in array", "[\"\"]", [""]),
    // Numbers.
    JSONCase("zero", "0", 0),
    JSONCase("minus zero", "-0", 0),
    JSONCase("minus zero with fraction", "[-0.0]", [0]),
    JSONCase("negative", "[-123]", [-123]),
    JSONCase("minus one", "[-1]", [-1]),
    JSONCase("zero with exponent", "[0e1]", [0]),
    JSONCase("zero with signed exponent", "[0e+1]", [0]),
    JSONCase("zero with a huge exponent", "[0e99999999999999999999]", [0]),
    JSONCase("fraction", "[123.456789]", [123.456789]),
    JSONCase("exponent", "[1E22]", [1e22]),
    JSONCase("negative exponent", "[1E-2]", [0.01]),
    JSONCase("positive exponent", "[1E+2]", [100]),
    JSONCase("whole with fraction", "[1.0]", [1]),
    JSONCase("whole with exponent", "[1e2]", [100]),
    JSONCase("fraction made whole by its exponent", "[123.456e78]", [123.456e78]),
    JSONCase("whole made whole by its exponent", "[1500e-2]", [15]),
    JSONCase(
      "near zero", "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]", [-1e-78]),
    JSONCase("greatest Int64", "[9223372036854775807]", [9_223_372_036_854_775_807]),
    JSONCase("least Int64", "[-9223372036854775808]", [.integer(.min)]),
    JSONCase("past Int64", "[9223372036854775808]", [.exactly("9223372036854775808")]),
    JSONCase("shortest digits of a double", "[5e-324]", [.number(.leastNonzeroMagnitude)]),
    JSONCase("greatest double", "[1.7976931348623157e308]", [1.7976931348623157e308]),
    JSONCase("more digits than a double has", "[9007199254740993.5]", [.exactly("9007199254740993.5")]),
    // Objects.
    JSONCase("empty object", "{}", [:]),
    JSONCase("object", "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", ["asd": "sdf", "dfg": "fgh"]),
    JSONCase("equal keys: the last counts", "{\"a\":\"b\",\"a\":\"c\"}", ["a": "c"]),
    JSONCase("equal keys by way of an escape", "{\"a\":1,\"\\u0061\":2}", ["a": 2]),
    JSONCase("equal members", "{\"a\":\"b\",\"a\":\"b\"}", ["a": "b"]),
    JSONCase("empty key", "{\"\":0}", ["": 0]),
    JSONCase("key with NUL escaped", "{\"foo\\u0000bar\": 42}", ["foo\u{0}bar": 42]),
    JSONCase("object with newlines", "{\n\"a\":\n\"b\"\n}", ["a": "b"]),
    JSONCase("object with long texts", "{\"x\":[{\"id\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}]}"),
    // Texts.
    JSONCase("all escapes", #"["\"\\\/\b\f\n\r\t"]"#, ["\"\\/\u{8}\u{c}\n\r\t"]),
    JSONCase("escaped characters", #"["\u0060\u012a\u12AB"]"#, ["\u{60}\u{12a}\u{12ab}"]),
    JSONCase("pair of surrogates", #"["\uD801\udc37"]"#, ["\u{10437}"]),
    JSONCase("two pairs of surrogates", #"["\ud83d\ude39\ud83d\udc8d"]"#, ["\u{1f639}\u{1f48d}"]),
    JSONCase("last pair of surrogates", #"["\uDBFF\uDFFF"]"#, ["\u{10ffff}"]),
    JSONCase("backslash before u", #"["\\u0061"]"#, ["\\u0061"]),
    JSONCase("escaped quote at the end", #"["\""]"#, ["\""]),
    JSONCase("escaped NUL", #"["\u0000"]"#, ["\u{0}"]),
    JSONCase("escaped noncharacter", #"["\uFFFF"]"#, ["\u{ffff}"]),
    JSONCase("comments in a string", #"["a/*b*/c/*d//e"]"#, ["a/*b*/c/*d//e"]),
    JSONCase("delete is no control character here", "[\"\u{7f}\"]", ["\u{7f}"]),
    JSONCase("separators of lines", "[\"\u{2028}\u{2029}\"]", ["\u{2028}\u{2029}"]),
    JSONCase("two, three and four bytes", "[\"é中😀\"]", ["é中😀"]),
    JSONCase("noncharacters", "[\"\u{ffff}\u{10ffff}\"]", ["\u{ffff}\u{10ffff}"]),
    JSONCase("lone text", "\"asd\"", "asd"),
    JSONCase("lone true", "true", true),
    JSONCase("lone null", " null ", nil),
    JSONCase(
      "text of 7, 8 and 9 bytes", "[\"1234567\",\"12345678\",\"123456789\"]", ["1234567", "12345678", "123456789"]),
    JSONCase(
      "text of 15 and 16 bytes", "[\"123456789012345\",\"1234567890123456\"]", ["123456789012345", "1234567890123456"]),
    JSONCase("as deep as allowed", String(repeating: "[", count: 128) + String(repeating: "]", count: 128)),
  ]

  /// What is left to the reader, and is read.
  static let acceptedByUs: [JSONCase] = [
    JSONCase("a byte order mark is skipped", "\u{feff}{}", [:]),
    JSONCase("a number too small for Double", "[123e-10000000]", [.exactly("123e-10000000")]),
    JSONCase("a number too small, negative", "[-1e-400]", [.exactly("-1e-400")]),
    JSONCase("more digits than Double keeps", "[100000000000000000000]", [1e20]),
    JSONCase("a number with a huge exponent", "[0.4e00669999999999999999999999999999999999999999999999999999999999]"),
    JSONCase("a very negative whole number", "[-237462374673276894279832749832423479823246327846]"),
  ]

  /// What is left to the reader, and is refused.
  static let rejectedByUs: [JSONCase] = [
    JSONCase("a lone first surrogate", #"["\uD800"]"#),
    JSONCase("a first surrogate before another", #"["\uD800\uD800\uDC00"]"#),
    JSONCase("a first surrogate before text", #"["\uD888x"]"#),
    JSONCase("deeper than 128", String(repeating: "[", count: 129) + String(repeating: "]", count: 129)),
    JSONCase("500 deep", String(repeating: "[", count: 500) + String(repeating: "]", count: 500)),
    JSONCase("UTF-16 with its mark", [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00]),
    JSONCase("UTF-16 without a mark", [0x00, 0x5B, 0x00, 0x5D]),
    .text("an overlong form of two bytes", [0xC0, 0xAF]),
    .text("an overlong form of three bytes", [0xE0, 0x80, 0xAF]),
    .text("an overlong form of four bytes", [0xF0, 0x80, 0x80, 0xAF]),
    .text("a surrogate in UTF-8", [0xED, 0xA0, 0x80]),
    .text("past the last character", [0xF4, 0xBF, 0xBF, 0xBF]),
    .text("a cut sequence", [0xE4, 0xB8]),
    .text("a lone continuation", [0x81]),
    .text("Latin 1", [0xE9]),
    .text("bytes that are never UTF-8", [0xFF, 0xFE]),
  ]
}

extension JSONCases {
  static let rejected: [JSONCase] = [
    // The whole.
    JSONCase("nothing", ""),
    JSONCase("a space", " "),
    JSONCase("half a byte order mark", [0xEF, 0xBB]),
    JSONCase("two values", "1 2"),
    JSONCase("an array and an object", "[] {}"),
    JSONCase("an array and a comma", "[],"),
    JSONCase("an object and a hash", "{} #"),
    JSONCase("a comment", "/**/"),
    JSONCase("a comment behind", "[] // no"),
    JSONCase("a closing brace", "}"),
    JSONCase("a comma", ","),
    JSONCase("a colon", ":"),
    JSONCase("a single quote", "'"),
    JSONCase("NUL", [0x00]),
    JSONCase("NUL behind", [0x5B, 0x5D, 0x00]),
    JSONCase("a form feed", "\u{c}[]"),
    JSONCase("a no-break space", "\u{a0}[]"),
    JSONCase("a word joiner", "\u{2060}[]"),
    JSONCase("a second byte order mark", "\u{feff}\u{feff}[]"),
    JSONCase("100,000 brackets", String(repeating: "[", count: 100_000)),
    JSONCase("50,000 open members", String(repeating: "[{\"\":", count: 50_000)),
    // Words.
    JSONCase("nul", "nul"),
    JSONCase("nullx", "nullx"),
    JSONCase("True", "True"),
    JSONCase("TRUE", "[TRUE]"),
    JSONCase("fals", "fals"),
    JSONCase("undefined", "undefined"),
    JSONCase("minus NaN", "-NaN"),
    JSONCase("Infinity", "Infinity"),
    JSONCase("minus Infinity", "-Infinity"),
    JSONCase("inf", "inf"),
    JSONCase("a word in full width", "\u{ff4e}ull"),
    // Arrays.
    JSONCase("a trailing comma and a space", "[1, ]"),
    JSONCase("a brace for a bracket", "[1}"),
    JSONCase("nothing behind a nested array", "[[1]"),
    JSONCase("a vertical tab", "[\u{b}1]"),
    // Objects.
    JSONCase("two trailing commas in an object", "{\"id\":0,,}"),
    JSONCase("only a comma in an object", "{,}"),
    JSONCase("a leading comma in an object", "{,\"id\":0}"),
    JSONCase("two commas in an object", "{\"a\":1,,\"b\":2}"),
    JSONCase("no colon", "{\"a\" 1}"),
    JSONCase("two colons", "{\"x\"::1}"),
    JSONCase("no value", "{\"a\":}"),
    JSONCase("only a key, closed", "{\"a\"}"),
    JSONCase("a key without quotes", "{a: 1}"),
    JSONCase("a number for a key", "{1: 1}"),
    JSONCase("null for a key", "{null: 1}"),
    JSONCase("an array for a key", "{[]: 1}"),
    JSONCase("single quotes", "{'a': 0}"),
    JSONCase("a bracket for a brace", "{\"a\": 1]"),
    JSONCase("a comment in an object", "{\"a\":/*c*/1}"),
    JSONCase("no comma in an object", "{\"a\":1 \"b\":2}"),
    JSONCase("text behind a value", "{\"a\":\"b\" c}"),
    JSONCase("no closing quote of a key", "{\"a: 1}"),
    JSONCase("an equals sign", "{\"a\"=1}"),
    JSONCase("a bad key", "{\"\\x\": 1}"),
    JSONCase("a key in bad UTF-8", [0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x30, 0x7D]),
    JSONCase("a lone surrogate in a key", #"{"\ud800": 1}"#),
    // Numbers.
    JSONCase("two zeros", "00"),
    JSONCase("two minus signs", "--1"),
    JSONCase("a minus sign alone", "-"),
    JSONCase("a minus sign and a space", "- 1"),
    JSONCase("a leading point", ".5"),
    JSONCase("a leading point, negative", "-.5"),
    JSONCase("a trailing point", "1."),
    JSONCase("a trailing point, zero", "[0.]"),
    JSONCase("a point before the exponent", "0.e1"),
    JSONCase("two points", "1.2.3"),
    JSONCase("an exponent without digits", "[1e]"),
    JSONCase("an exponent with a sign alone", "1e+"),
    JSONCase("an exponent with two signs", "1e+-1"),
    JSONCase("an exponent with a point", "1e1.5"),
    JSONCase("two exponents", "1e1e1"),
    JSONCase("hexadecimal", "0x42"),
    JSONCase("letters behind", "[1a]"),
    JSONCase("an underscore", "1_000"),
    JSONCase("digits in full width", "\u{ff11}"),
    JSONCase("a bad byte in the digits", [0x5B, 0x31, 0xFF, 0x5D]),
    // Texts.
    JSONCase("no closing quote", "\"abc"),
    JSONCase("a backslash at the end", "\"\\"),
    JSONCase("an escape in capitals", #"["\N"]"#),
    JSONCase("an escape of a single quote", #"["\'"]"#),
    JSONCase("\\u alone", #"["\u"]"#),
    JSONCase("\\u with a bad digit", #"["\u00Gx"]"#),
    JSONCase("\\U", #"["\U0061"]"#),
    JSONCase("half a pair at the end", #""\uD800\"#),
    JSONCase("NUL inside", [0x22, 0x61, 0x00, 0x61, 0x22]),
    JSONCase("unit separator inside", "\"12345678\u{1f}\""),
    JSONCase("a control character behind eight bytes", "\"12345678\u{1}12345678\""),
    JSONCase("a control character behind a letter outside of ASCII", "\"é\u{1}\""),
    JSONCase("no opening quote", "abc\""),
    JSONCase("text behind a string", "\"a\"b"),
    JSONCase("an escape outside of a string", #"\u0061"#),
    .text("bad UTF-8 behind an escape", [0x5C, 0x75, 0x30, 0x30, 0x36, 0x31, 0xE5]),
    .text("bad UTF-8 in an escape", [0x5C, 0xE5]),
    .text("bad UTF-8 in the digits of an escape", [0x5C, 0x75, 0x30, 0x30, 0x30, 0xE5]),
  ]
}
