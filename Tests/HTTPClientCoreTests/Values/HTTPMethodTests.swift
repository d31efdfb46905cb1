import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct HTTPMethodTests {
  @Test(arguments: ["GET", "get", "PURGE", "M-SEARCH", "!#$%&'*+-.^_`|~0aZ"])
  func `a token is a method, and keeps its case`(text: String) throws {
    #expect(try HTTPMethod(text).rawValue == text)
    #expect("\(try HTTPMethod(text))" == text)
  }

  @Test func `methods that differ in case are not the same`() throws {
    #expect(try HTTPMethod("GET") == .get)
    #expect(try HTTPMethod("get") != .get)
  }

  @Test(arguments: ["", " ", "GET ", " GET", "GET POST", "GET/1", "G:T", "G\"T", "G(T", "GÉT", "ＧＥＴ", "GET\u{301}"])
  func `a method that is no token throws`(text: String) {
    let error = #expect(throws: RequestError.self) { try HTTPMethod(text) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: ["CONNECT", "TRACE"])
  func `a method that is not for requests to a server throws`(text: String) {
    let error = #expect(throws: RequestError.self) { try HTTPMethod(text) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("'\(text)'") == true)
  }

  @Test func `T1: a control character anywhere throws`() {
    for control in controls {
      for text in ["\(control)GET", "G\(control)T", "GET\(control)", "GET \(control)/ HTTP/1.1"] {
        #expect(throws: RequestError.self) { try HTTPMethod(text) }
      }
    }
  }

  @Test func `the error shows what was given without its controls`() {
    let error = #expect(throws: RequestError.self) { try HTTPMethod("GET\r\nX: y") }
    #expect(error?.message.contains(#"GET\r\nX: y"#) == true)
  }
}
