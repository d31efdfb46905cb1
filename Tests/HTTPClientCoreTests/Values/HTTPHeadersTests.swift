import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct HTTPHeadersTests {
  @Test func `fields keep their order and the case of their names`() throws {
    var headers = HTTPHeaders()
    try headers.append("b", "1")
    try headers.append("A", "2")
    headers.append(try HTTPField(name: "B", value: "3"))
    #expect(headers.map(\.name) == ["b", "A", "B"])
    #expect(headers.map(\.value) == ["1", "2", "3"])
    #expect(headers.count == 3)
    #expect(headers[1].name == "A")
  }

  @Test func `values are found without regard to case, and joined with commas`() {
    let headers: HTTPHeaders = ["Accept": "a", "X": "1", "aCCEPT": "b"]
    #expect(headers["accept"] == "a, b")
    #expect(headers.values(of: "ACCEPT") == ["a", "b"])
    #expect(headers["y"] == nil)
    #expect(headers.values(of: "y") == [])
    #expect(headers.contains("x"))
    #expect(!headers.contains("xx"))
  }

  @Test func `setting replaces all fields of the name`() throws {
    var headers: HTTPHeaders = ["X": "1", "Y": "2", "x": "3"]
    try headers.set("x", to: "4")
    #expect(headers.map(\.description) == ["Y: <redacted>", "x: <redacted>"])
    #expect(headers["X"] == "4")
  }

  @Test func `removing takes all fields of the name`() {
    var headers: HTTPHeaders = ["X": "1", "Y": "2", "x": "3"]
    headers.remove("X")
    #expect(headers.map(\.name) == ["Y"])
    headers.remove("nothing")
    #expect(headers.count == 1)
  }

  @Test func `merging adds the fields whose names are missing, and all of these`() {
    let headers: HTTPHeaders = ["a": "1"]
    let merged = headers.adding(defaults: ["A": "2", "B": "3", "b": "4"])
    #expect(merged.map(\.value) == ["1", "3", "4"])
  }

  @Test func `T1: a control character throws and changes nothing`() throws {
    for control in controls {
      var headers: HTTPHeaders = ["X": "1"]
      #expect(throws: RequestError.self) { try headers.set("X", to: "a\(control)b") }
      #expect(throws: RequestError.self) { try headers.append("X\(control)", "a") }
      #expect(headers == ["X": "1"])
    }
  }

  @Test func `equality looks at order and values, and not at the case of names`() {
    #expect(HTTPHeaders() == [:])
    #expect((["A": "1", "B": "2"] as HTTPHeaders) == ["a": "1", "b": "2"])
    #expect((["A": "1", "B": "2"] as HTTPHeaders) != ["B": "2", "A": "1"])
    #expect((["A": "1"] as HTTPHeaders) != ["A": "2"])
  }

  @Test func `S3: secrets are shown by nothing that prints or dumps headers or a request with them`() throws {
    var headers: HTTPHeaders = ["Accept": "text/plain"]
    try headers.set("Authorization", to: "Bearer \(canary)")
    #expect(!everythingShown(of: headers).contains(canary))
    #expect(everythingShown(of: headers).contains("text/plain"))
    let request = try request(headers: headers)
    #expect(!everythingShown(of: request).contains(canary))
  }

  @Test(arguments: [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
    ("", "a:b", "Basic OmE6Yg=="),
  ])
  func `a user name and a password are encoded as RFC 7617 says, and never shown`(
    userName: String, password: String, value: String
  ) throws {
    var headers: HTTPHeaders = ["Authorization": "Bearer x"]
    try headers.setBasicAuthorization(userName: userName, password: password)
    #expect(headers.values(of: "Authorization") == [value])
    #expect(!everythingShown(of: headers).contains(value.dropFirst(6)))
  }

  @Test func `a user name with a colon, and control characters, are refused and not shown`() {
    for (userName, password) in [("canary:1", "x"), ("canary\n", "x"), ("a", "canary\0"), ("a", "canary\u{85}")] {
      var headers = HTTPHeaders()
      let error = #expect(throws: RequestError.self) {
        try headers.setBasicAuthorization(userName: userName, password: password)
      }
      #expect(error?.kind == .invalidRequest)
      #expect(error.map { "\($0)".contains("canary") } == false)
      #expect(headers.isEmpty)
    }
  }
}
