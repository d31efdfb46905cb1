import Foundation
import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct RedactorTests {
  private func redactor(_ name: String = "Authorization", _ value: String = "Bearer \(canary)") throws -> Redactor {
    var headers: HTTPHeaders = ["Accept": "application/json", "User-Agent": "MomentsSDK/0.1.0"]
    try headers.set(name, to: value)
    return Redactor(secretsOf: try request(headers: headers))
  }

  @Test func `S3: neither what was sent nor whose a request is stands in a dump`() {
    let sent = SentSecrets(declared: [])
    sent.add(texts: ["canary-token-1"])
    var text = ""
    dump(sent, to: &text)
    dump(RequestEntry.Token(account: nil, value: "canary-token-1"), to: &text)
    text += String(describing: sent) + String(reflecting: RequestEntry.Token(account: nil, value: "canary-token-1"))
    #expect(text.contains(Redactor.placeholder))
    #expect(!text.contains("canary"))
  }

  @Test func `S3: a secret is taken out wherever it stands, alone or with what stood before it`() throws {
    let redactor = try redactor()
    #expect(redactor.redact("Bearer \(canary)") == "<redacted>")
    #expect(redactor.redact("a \(canary), \(canary)b") == "a <redacted>, <redacted>b")
    #expect(redactor.redact("nothing here") == "nothing here")
    #expect(redactor.redact("") == "")
  }

  @Test func `public fields are not redacted`() throws {
    let text = "application/json MomentsSDK/0.1.0 Bearer"
    #expect(try redactor().redact(text) == text)
  }

  @Test func `a short value is no secret, or it would take words out of every text`() throws {
    #expect(try redactor("X-Env", "prod").redact("a product") == "a product")
    #expect(try redactor("X-Key", "12345678").redact("-12345678-") == "-<redacted>-")
  }

  @Test(arguments: [
    "sid=\(canary); theme=dark", "a=1; sid=\(canary)", "Digest response=\"\(canary)\", qop=auth", "\(canary),x",
  ])
  func `S3: a secret that is a part of a value is taken out alone too`(value: String) throws {
    #expect(try redactor("Cookie", value).redact("no session '\(canary)'") == "no session '<redacted>'")
  }

  @Test func `S3: a secret of several lines is taken out line by line, too`() {
    let redactor = Redactor(secretsOf: [HTTPField(received: "secret", value: "alice\nhunter2-hunter2")])
    #expect(redactor.redact("no 'hunter2-hunter2'") == "no '<redacted>'")
  }

  @Test func `S3: a secret is found in the escaping of JSON and of URLs`() throws {
    let token = "ab/cd+ef==gh/ijkl"
    let redactor = try redactor("Authorization", "Bearer \(token)")
    #expect(redactor.redact(#"{"token": "ab\/cd+ef==gh\/ijkl"}"#) == #"{"token": "<redacted>"}"#)
    #expect(redactor.redact("?token=ab%2Fcd%2Bef%3D%3Dgh%2Fijkl&a") == "?token=<redacted>&a")
  }

  /// What a header may hold, escaped by servers of every kind, and by this SDK's own messages.
  @Test(arguments: [
    (#"pass"word\12"#, [#"pass\"word\\12"#, #"pass\u0022word\u005c12"#, #"pass\u0022word\u005C12"#]),
    (#"pass"word\13"#, ["pass%22word%5c13", "pass%22word%5C13"]),
    ("ab+cd==efgh", [#"ab\u002bcd\u003d\u003defgh"#, #"ab\u002Bcd\u003D=efgh"#, "ab%2Bcd==efgh", "ab%2bcd%3d%3defgh"]),
    ("clé-secrète", [#"cl\u00e9-secr\u00E8te"#, "cl%C3%A9-secr%c3%a8te"]),
    ("clé-🔑-…-clé", [#"cl\u00e9-\ud83d\uDD11-\u2026-cl\u00E9"#, "clé-🔑-…-clé"]),
    ("one two\u{200B}three", [#"one two\u200bthree"#, #"one two\u{200B}three"#]),
    (#"back\tab\n\t1"#, [#"back\\tab\\n\\t1"#]), ("100%25%41%42", ["100%25%41%42", "100%2525%2541%2542"]),
  ])
  func `S3: a secret is found in each escaping, escaped as far as the writer liked`(
    secret: String, spellings: [String]
  ) throws {
    let redactor = try redactor("X-Key", secret)
    for escaping in spellings + [secret, secret.sanitized()] {
      #expect(redactor.redact(#"{"key": "\#(escaping)", "a": 1}"#) == #"{"key": "<redacted>", "a": 1}"#, "\(escaping)")
      #expect(redactor.redact(#"\n\u00\#(escaping)%2"#) == #"\n\u00<redacted>%2"#, "\(escaping)")
      for length in 8..<escaping.utf8.count {
        guard let start = String(escaping.utf8.prefix(length)) else { continue }
        #expect(redactor.redact("bad \(start)") == "bad <redacted>", "\(start)")
        let cut = redactor.redact("bad \(start)…")
        // The ellipsis may be one of the secret's own.
        #expect(cut == "bad <redacted>…" || secret.contains("…") && cut == "bad <redacted>", "\(start)")
      }
    }
  }

  @Test func `S3: a secret is found though a combining character follows it`() throws {
    #expect(try !redactor().redact("\(canary)\u{301}").contains(canary))
  }

  @Test(arguments: 8..<canary.utf8.count)
  func `S3: the start of a secret at a cut end is taken out`(length: Int) throws {
    let start = String(canary.prefix(length))
    #expect(try redactor().redact("bad token \(start)") == "bad token <redacted>")
    #expect(try redactor().redact("bad token \(start)…") == "bad token <redacted>…")
    #expect(try redactor().redact("bad \(start) token") == "bad \(start) token")
  }

  /// Cuts within characters of two, three and four bytes, whose first bytes an ellipsis and U+FFFD may have as well.
  @Test(arguments: ["clé-secrète-été", "secret 🔑🔑🔑", "secret-…—…—…", "secret－！－！－", "secret\u{FFDF}\u{FFDF}\u{FFDF}"])
  func `S3: the start of a secret that was cut within a character is taken out`(secret: String) throws {
    let redactor = try redactor("X-Key", secret)
    for length in 8..<secret.utf8.count {
      let start = String(decoding: secret.utf8.prefix(length), as: UTF8.self)
      guard start.utf8.count - (start.last == "\u{FFFD}" ? 3 : 0) >= 8 else { continue }
      for text in ["bad \(start)", "bad \(start)…"] {
        let shown = redactor.redact(text)
        #expect(shown.hasPrefix("bad <redacted>"), "\(text)")
        #expect(shown.utf8.count <= "bad <redacted>\u{FFFD}…".utf8.count, "\(text)")
      }
    }
    let start = secret.prefix(8)
    #expect(redactor.redact("\(start)\u{FFFD} and more").hasPrefix(start))
  }

  @Test func `S3: a body that is cut within a character of the secret shows no part of it`() throws {
    let secret = String(repeating: "é", count: 300)
    let redactor = try redactor("X-Key", secret)
    let body = Data(("x" + String(repeating: secret, count: 20)).utf8)
    #expect(redactor.excerpt(of: body)?.contains("é") == false)
  }

  @Test(arguments: [#"see \u{202E}"#, #"see \u{202E}…"#, #"C:\users"#, #"\u00zz"#, #"\u{zz"#, "90 %o", #"\u0041\x"#])
  func `a text's end that is no escape is not taken for a cut one`(text: String) throws {
    #expect(try redactor().redact(text) == text)
  }

  @Test func `an excerpt is redacted, sanitized and bounded`() throws {
    let redactor = try redactor()
    #expect(redactor.excerpt(of: Data()) == nil)
    #expect(redactor.excerpt(of: Data("a\(canary)\u{1B}[0m".utf8)) == #"a<redacted>\u{1B}[0m"#)
    #expect(redactor.excerpt(of: Data([0x61, 0xFF, 0x62])) == "a\u{FFFD}b")
    let long = redactor.excerpt(of: Data(String(repeating: "x", count: 5000).utf8))
    #expect(long == String(repeating: "x", count: 512) + "…")
    #expect(redactor.excerpt(of: Data("abcdef".utf8), upTo: 3) == "abc…")
  }

  @Test func `S3: no offset of a secret in a body makes the excerpt show a part of it`() throws {
    let redactor = try redactor()
    for offset in Array(480..<530) + Array(2000..<2060) {
      let body = Data((String(repeating: "x", count: offset) + canary + canary).utf8)
      #expect(redactor.excerpt(of: body)?.contains(canary.prefix(8)) == false, "\(offset)")
    }
  }

  @Test func `S3: a response that is full of the secret shows no part of it at the excerpt's end`() throws {
    let token = String((0..<600).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122))) })
    let redactor = try redactor("Authorization", "Bearer \(token)")
    let body = Data(String(repeating: token, count: 20).utf8)
    #expect(redactor.excerpt(of: body)?.contains(token.prefix(8)) == false)
  }

  @Test(arguments: [#"\"#, #"\u"#, #"\u{"#, #"\u0041"#, "%", "%41"])
  func `a text that is full of escapes takes time in proportion to its length`(escape: String) throws {
    let secrets = (0..<4).map { HTTPField(received: "secret", value: "\(canary)-\($0)") }
    let redactor = Redactor(secretsOf: secrets)
    let time = { (length: Int) in
      let text = String(repeating: escape, count: length / escape.utf8.count)
      // The thread's own time, which other work on the machine does not make longer.
      return (0..<3).map { _ in
        let start = processorTime()
        _ = redactor.redact(text)
        return processorTime() - start
      }.min() ?? 0
    }
    #expect(time(4_096) < time(512) * 24)
  }

  @Test func `S3: a redactor shows its secrets by nothing that prints or dumps it`() throws {
    #expect(try !everythingShown(of: redactor()).contains(canary))
  }
}

extension RedactorTests {
  @Test func `S3: the user and the password of the scheme Basic are taken out, apart and together`() throws {
    let value = Data("alice-smith:pass:word-\(canary)".utf8).base64EncodedString()
    for name in ["Authorization", "X-Upstream"] {
      let redactor = Redactor(
        secretsOf: try request(headers: HTTPHeaders([HTTPField(name: name, value: "basic \(value)")])))
      #expect(redactor.redact("no 'pass:word-\(canary)' of alice-smith") == "no '<redacted>' of <redacted>")
      #expect(redactor.redact(value) == "<redacted>")
    }
    let odd = Redactor(secretsOf: try request(headers: ["Authorization": "Basic !!!"]))
    #expect(odd.redact("text") == "text")
  }

  @Test func `S3: the values of a query are taken out, as they stand there and decoded`() throws {
    let redactor = Redactor(secretsOf: try request("http://127.0.0.1/x?sid=ab%2Fcd+ef-123&plain-token-1&n=7"))
    #expect(
      redactor.redact("ab%2Fcd+ef-123, ab/cd ef-123 and plain-token-1, n=7")
        == "<redacted>, <redacted> and <redacted>, n=7")
    let graphQL = Redactor(
      secretsOf: try request("http://127.0.0.1/x?operationName=getTimeline&query=query%20getTimeline"))
    #expect(graphQL.redact("getTimeline has no field") == "getTimeline has no field")
  }
}

/// Of this thread, in nanoseconds.
private func processorTime() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
