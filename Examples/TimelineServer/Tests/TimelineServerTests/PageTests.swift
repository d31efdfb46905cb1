import Foundation
import HTTPClientCore
import StrictJSON
import Testing

/// The page in a real browser.
@Suite(.enabled(if: Chromium.path != nil, "Chromium is missing: on Debian, apt-get install chromium"))
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
}
