import Foundation
import HTTPClientCore
import StrictJSON
import Testing

/// The page in a real browser.
@Suite(
  .serialized, .timeLimit(.minutes(5)),
  .enabled(if: Chromium.path != nil, "Chromium is missing: on Debian, apt-get install chromium"))
struct PageTests {
  private func page(_ server: Server) -> URL {
    server.url.appending(queryItems: [URLQueryItem(name: "user", value: "0")])
  }

  @Test func `the page shows a timeline, and a like in another browser without being loaded again`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "document.querySelectorAll('#moments li').length === 20")
    try await browser.wait(until: "document.getElementById('state').textContent === 'live'")
    #expect(try await browser.evaluate("document.getElementById('owner').textContent") == "Lin Wei")
    let heart = "document.querySelector('#m0-0 button')"
    // Lin Wei has liked it.
    let before = try #require(try await browser.evaluate("window.marker = \(heart).textContent").stringValue)
    let count = try #require(before.hasPrefix("♥ ") ? Int(before.dropFirst(2)) : nil)
    #expect(try await Browser(server, user: "4").send(.put, "timelines/0/likes/m0-0").head.status == 204)
    try await browser.wait(until: "\(heart).textContent === '♥ \(count + 1)'")
    _ = try await browser.evaluate("\(heart).click()")
    try await browser.wait(until: "\(heart).textContent === '♡ \(count)'")
    #expect(try await browser.evaluate("window.marker").stringValue == before)
    let picture = try await browser.screenshot()
    #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    if let file = ProcessInfo.processInfo.environment["SCREENSHOT"] { try picture.write(to: URL(filePath: file)) }
    withExtendedLifetime(server) {}
  }

  @Test func `while the backend is away, the page shows what is cached with its age, and is live again afterwards`()
    async throws
  {
    let bff = try await BFF()
    let server = try await Server(bff, ["STALE_TIME": "0", "CHECK_INTERVAL": "0"])
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "document.getElementById('state').textContent === 'live'")
    try await bff.kill()
    let isOffline =
      "/^the backend is away; from [0-9]+ s ago$/.test(document.getElementById('state').textContent)"
    try await browser.wait(until: isOffline)
    _ = try await browser.evaluate("window.marker = 1")
    try await browser.open(page(server))
    try await browser.wait(until: "\(isOffline) && document.querySelectorAll('#moments li').length === 20")
    #expect(try await browser.evaluate("window.marker") == .null)
    let again = try await BFF(port: try #require(bff.url.port))
    try await browser.wait(until: "document.getElementById('state').textContent === 'live'")
    withExtendedLifetime((server, again)) {}
  }

  @Test func `a page that cannot sign in says so, and does not ask again and again`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    let browser = try await Chromium()
    let requests = "performance.getEntriesByType('resource').length"
    try await browser.open(server.url.appending(queryItems: [URLQueryItem(name: "user", value: "nobody")]))
    try await browser.wait(until: "document.getElementById('problem').textContent.includes('no user')")
    #expect(try await browser.evaluate("document.getElementById('state').textContent") == "not connected")
    try await bff.kill()
    try await browser.open(page(server))
    try await browser.wait(until: "document.getElementById('problem').textContent.startsWith('Signing in failed')")
    let later = "new Promise(resolve => setTimeout(() => resolve(\(requests)), 3000))"
    #expect(try #require(try await browser.evaluate(later).integerValue) < 10)
    withExtendedLifetime(server) {}
  }

  @Test func `a page does not say that it is live once its server has gone, and reports a like that fails`()
    async throws
  {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let state = "document.getElementById('state')"
    try await browser.wait(until: "\(state).textContent === 'live' && \(state).className === 'live'")
    server.program.kill()
    try await browser.wait(until: "\(state).textContent.startsWith('not connected; from ')")
    #expect(try await browser.evaluate("\(state).className") == "")
    _ = try await browser.evaluate("document.querySelector('#m0-0 button').click()")
    try await browser.wait(until: "document.getElementById('problem').textContent.startsWith('The like was not saved')")
  }

  @Test func `a heart that is pressed keeps the focus, and says that it is pressed`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let heart = "document.querySelector('#m0-1 button')"
    try await browser.wait(until: "\(heart)?.ariaPressed === 'false'")
    _ = try await browser.evaluate("\(heart).focus(), \(heart).click()")
    try await browser.wait(until: "\(heart).ariaPressed === 'true'")
    #expect(try await browser.evaluate("document.activeElement === \(heart)") == true)
    // The first photo moment has one photo.
    let texts = "[...document.querySelectorAll('#moments li')].map(item => item.querySelector('p').textContent)"
    #expect(try await browser.evaluate("\(texts).includes('1 photos')") == false)
    #expect(try await browser.evaluate("document.querySelector('#m0-0 time').dateTime.startsWith('20')") == true)
    withExtendedLifetime(server) {}
  }

  @Test func `a browser that has two users' tabs keeps them apart`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    let heart = "document.querySelector('#m1-0 button')"
    try await browser.open(page(server))
    try await browser.wait(until: "document.getElementById('state').textContent === 'live'")
    try await browser.open(server.url.appending(queryItems: [URLQueryItem(name: "user", value: "1")]))
    try await browser.wait(until: "\(heart) !== null")
    let pressed = try #require(try await browser.evaluate("\(heart).ariaPressed").stringValue)
    _ = try await browser.evaluate("\(heart).click()")
    // The like is that of the user whose heart it is: it shows.
    try await browser.wait(until: "\(heart).ariaPressed !== '\(pressed)'")
    withExtendedLifetime(server) {}
  }
}
