import Foundation
import GraphQLClient
import HTTPClientCore
import Networking
import SocketHTTP
import Streams
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
    withExtendedLifetime(server) {}
  }

  /// A photo, drawn by a browser.
  private func photo(_ colors: String, in browser: Chromium) async throws -> Data {
    let drawing = try await browser.evaluate(
      """
      (() => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 240, height: 160 });
        const pen = canvas.getContext("2d"), sky = pen.createLinearGradient(0, 0, 0, 160);
        "\(colors)".split(" ").forEach((color, i, all) => sky.addColorStop(i / (all.length - 1), color));
        pen.fillStyle = sky;
        pen.fillRect(0, 0, 240, 160);
        pen.fillStyle = "#fffc";
        pen.arc(180, 50, 18, 0, 7);
        pen.fill();
        return canvas.toDataURL().split(",")[1];
      })()
      """)
    return try #require(Data(base64Encoded: drawing.stringValue ?? ""))
  }

  @Test func `two browsers side by side show photos, what the server does, and each other's likes, and find it again`()
    async throws
  {
    let bff = try await BFF()
    var server = try await Server(bff)
    let (one, other) = (try await Chromium(), try await Chromium())
    let client = try APIClient(baseURL: bff.url, transport: SocketTransport())
    for (title, colors) in [("Home", "#203a43 #2c5364 #f7971e"), ("The lake, early", "#355c7d #6c5b7b #c06c84")] {
      let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
      try await photo(colors, in: one).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      let session = PostPhotoSession(client: client)
      _ = try await session.postPhoto(.file(file, contentType: "image/png"), title: title, userID: "0").value
    }

    for browser in [one, other] { try await browser.open(page(server)) }
    let state = "document.getElementById('state').textContent"
    for browser in [one, other] { try await browser.wait(until: "\(state) === 'live'") }
    // Both of the photos are there, and those that cannot be had are gone.
    let photos = "[...document.querySelectorAll('#moments img')]"
    try await one.wait(until: "\(photos).filter(photo => photo.complete && photo.naturalWidth === 240).length === 2")
    try await one.wait(until: "document.getElementById('browsers').textContent === '2'")
    #expect(try await one.evaluate("document.getElementById('subscriptions').textContent") == "1")
    #expect(
      try await one.evaluate("/^[0-9]+ of [0-9]+$/.test(document.getElementById('hits').textContent)") == true)
    let picture = try await one.screenshot()
    #expect(picture.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    if let file = ProcessInfo.processInfo.environment["SCREENSHOT"] { try picture.write(to: URL(filePath: file)) }

    let port = try #require(server.url.port)
    server.program.kill()
    for browser in [one, other] { try await browser.wait(until: "\(state).startsWith('not connected; from ')") }
    #expect(try await one.evaluate("document.getElementById('figures').className") == "old")
    _ = try await server.program.status
    server = try await Server(bff, ["PORT": "\(port)"])
    for browser in [one, other] { try await browser.wait(until: "\(state) === 'live'") }
    let heart = "document.querySelector('#m0-3 button')"
    let pressed = try #require(try await other.evaluate("\(heart).ariaPressed").stringValue)
    _ = try await one.evaluate("\(heart).click()")
    for browser in [one, other] { try await browser.wait(until: "\(heart).ariaPressed !== '\(pressed)'") }
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
