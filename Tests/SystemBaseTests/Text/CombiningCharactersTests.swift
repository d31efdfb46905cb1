import SystemBase
import Testing

@Suite struct CombiningCharactersTests {
  @Test(arguments: [
    "", "plain", String(repeating: "x", count: 100_000), String(repeating: "é", count: 1000),
    "a" + String(repeating: "\u{301}", count: 30) + "b" + String(repeating: "\u{301}", count: 30),
  ])
  func `a string that is compared in linear time stays as it is`(text: String) {
    #expect(text.isName)
    #expect(text.comparable == text)
  }

  @Test func `more than 30 combining characters in a row are replaced, and what is around them stays`() {
    let text = "größe: a" + String(repeating: "\u{301}\u{323}", count: 30) + " z"
    #expect(!text.isName)
    #expect(text.comparable == "größe: a" + String(repeating: "\u{FFFD}", count: 60) + " z")
  }
}
