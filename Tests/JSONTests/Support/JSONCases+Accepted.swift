import JSON

/// Texts that must be read, that must not, and that a reader may decide about: those of the known suite, by its names,
/// and more of the same kind.
enum JSONCases {
  static let accepted: [JSONCase] = [
    // Arrays.
    JSONCase("empty array", "[]", []),
    JSONCase("array with spaces", "[[]   ]", [[]]),
    JSONCase("array ending with a newline", "[\"a\"\n]", ["a"]),
    JSONCase(
      "array of all kinds", "[null, 1, \"1\", {}, [], true, false, 1.5]", [nil, 1, "1", [:], [], true, false, 1.5]),
    JSONCase("array with leading space", " [1]", [1]),
    JSONCase("array with nulls", "[1,null,null,null,2]", [1, nil, nil, nil, 2]),
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
    JSONCase("past Int64", "[9223372036854775808]", [9_223_372_036_854_775_808.0]),
    JSONCase("shortest digits of a double", "[5e-324]", [.number(.leastNonzeroMagnitude)]),
    JSONCase("greatest double", "[1.7976931348623157e308]", [1.7976931348623157e308]),
    JSONCase("rounds to even", "[9007199254740993.5]", [9_007_199_254_740_994]),
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
    JSONCase("a number too small for Double is zero", "[123e-10000000]", [0]),
    JSONCase("a number too small, negative", "[-1e-400]", [0]),
    JSONCase("more digits than Double keeps are rounded", "[100000000000000000000]", [1e20]),
    JSONCase("a very negative whole number is rounded", "[-237462374673276894279832749832423479823246327846]"),
  ]

  /// What is left to the reader, and is refused.
  static let rejectedByUs: [JSONCase] = [
    JSONCase("a number with a huge exponent", "[0.4e00669999999999999999999999999999999999999999999999999999999999]"),
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
