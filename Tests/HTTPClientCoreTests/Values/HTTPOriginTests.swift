import Foundation
import HTTPClientCore
import HTTPTestSupport
import Testing

@Suite struct HTTPOriginTests {
  @Test(arguments: [
    ("https://H.example/x?y", "https://h.example:443"), ("http://[::1]:8080/x", "http://[::1]:8080"),
    ("http://[FE80::A%25Eth0]/", "http://[fe80::a%25Eth0]:80"),
  ])
  func `an origin is shown as a URL has it`(text: String, origin: String) throws {
    #expect(try HTTPOrigin(of: url(text)).description == origin)
  }

  @Test func `a zone keeps its case, as it is the name of an interface`() throws {
    let text = "http://[FE80::A%25Eth0]/"
    #expect(try request(text).origin.host == "fe80::a%Eth0")
    #expect(try request(text).origin == HTTPOrigin(of: url(text)))
  }
}
