import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct HTTPFieldTests {
  @Test func `T1: a control character in a name throws`() {
    for control in controls {
      for name in ["\(control)X", "X\(control)Y", "X\(control)", "\(control)"] {
        let error = #expect(throws: RequestError.self) { try HTTPField(name: name, value: "v") }
        #expect(error?.kind == .invalidRequest)
      }
    }
  }

  @Test func `T1: a control character in a value throws, at its ends too`() {
    for control in controls {
      for value in ["\(control)v", "v\(control)w", "v\(control)", "\(control)", " \(control) "] {
        let error = #expect(throws: RequestError.self) { try HTTPField(name: "X", value: value) }
        #expect(error?.kind == .invalidRequest)
      }
    }
  }

  @Test func `T1: a value may hold every character but those that Unicode calls control characters`() {
    for scalar in (0...0x2FFF).compactMap(Unicode.Scalar.init) {
      let isAllowed = (try? HTTPField(name: "X", value: "v\(scalar)é\(scalar)w")) != nil
      #expect(isAllowed == (scalar.properties.generalCategory != .control), "U+\(String(scalar.value, radix: 16))")
    }
  }

  @Test(arguments: ["a\r\nX-Injected: yes", "a\r\n\r\nGET / HTTP/1.1", "a\nb", "a\rb", "a\u{0}b", "e\u{301}\r\n"])
  func `T1: no value begins another header or another request`(value: String) {
    #expect(throws: RequestError.self) { try HTTPField(name: "X", value: value) }
  }

  @Test(arguments: ["", " ", "a b", "a:b", "a,b", "a(b", "é", "X\u{301}", "a/b", "a\"b", "{a}", "＠"])
  func `a name that is no token throws`(name: String) {
    #expect(throws: RequestError.self) { try HTTPField(name: name, value: "v") }
  }

  @Test func `every character of a token is allowed in a name`() throws {
    let name = "!#$%&'*+-.^_`|~09azAZ"
    #expect(try HTTPField(name: name, value: "").name == name)
  }

  @Test(arguments: [("  a b  ", "a b"), ("", ""), ("   ", ""), ("早安 🌅", "早安 🌅"), ("a", "a")])
  func `a value is kept without the spaces around it`(given: String, kept: String) throws {
    #expect(try HTTPField(name: "X", value: given).value == kept)
  }

  @Test func `the error for a broken value does not show it`() {
    let error = #expect(throws: RequestError.self) {
      try HTTPField(name: "Authorization", value: "Bearer \(canary)\n")
    }
    #expect(error.map { everythingShown(of: $0).contains(canary) } == false)
    #expect(error?.message.contains("Authorization") == true)
  }

  @Test func `the error for a whole line in the place of a name does not show the value in it`() {
    let error = #expect(throws: RequestError.self) {
      try HTTPField(name: "Authorization: Bearer \(canary)", value: "")
    }
    #expect(error.map { everythingShown(of: $0).contains(canary) } == false)
    #expect(error?.message.contains("Authorization") == true)
  }

  @Test func `names are equal without regard to case, values with it`() throws {
    let field = try HTTPField(name: "Content-Type", value: "a")
    let same = try HTTPField(name: "cONTENT-tYPE", value: "a")
    #expect(field == same)
    #expect(field.hashValue == same.hashValue)
    #expect(try field != HTTPField(name: "Content-Type", value: "A"))
    #expect(try HTTPField(name: "a^", value: "") != HTTPField(name: "a~", value: ""))
    #expect(try HTTPField(name: "a`", value: "") != HTTPField(name: "a@".replacing("@", with: "|"), value: ""))
  }

  @Test func `S3: a value that may be secret is shown by nothing that prints or dumps the field`() throws {
    for name in ["Authorization", "Cookie", "X-Api-Key", "Proxy-Authorization", "Set-Cookie", "X-Whatever"] {
      let field = try HTTPField(name: name, value: canary)
      #expect(!field.isPublic)
      #expect(!everythingShown(of: field).contains(canary))
      #expect(!everythingShown(of: [field]).contains(canary))
      #expect("\(field)" == "\(name): <redacted>")
    }
  }

  @Test func `a value of a public name is shown`() throws {
    #expect("\(try HTTPField(name: "ACCEPT", value: "text/plain"))" == "ACCEPT: text/plain")
  }
}
