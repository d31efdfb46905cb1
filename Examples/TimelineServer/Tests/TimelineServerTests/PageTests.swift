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
  private func page(_ server: Server, user: String = "0") -> URL {
    server.url.appending(queryItems: [URLQueryItem(name: "user", value: user)])
  }

  private let state = "document.getElementById('state').textContent"

  private func text(_ id: String) -> String { "document.getElementById('\(id)').textContent" }

  private func heart(_ moment: String) -> String { "document.querySelector('[data-id=\"\(moment)\"] button')" }

  @Test func `the page shows a timeline, and a like in another browser without being loaded again`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "document.querySelectorAll('#moments li').length === 20")
    try await browser.wait(until: "\(state) === 'live'")
    #expect(try await browser.evaluate(text("owner")) == "Lin Wei")
    let heart = heart("m0-0")
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

  @Test func `the page names those who like a moment, as they come and go`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let names = "document.querySelector('[data-id=\"m0-1\"] .likers').textContent.replace(/[\\u2068\\u2069]/g, '')"
    try await browser.wait(until: "\(heart("m0-1"))?.ariaPressed === 'false' && \(state) === 'live'")
    let before = try #require(try await browser.evaluate(names).stringValue)
    let other = try await Browser(server, user: "5")
    #expect(!before.contains("Quiet Reader"))
    #expect(try await other.send(.put, "timelines/0/likes/m0-1").head.status == 204)
    try await browser.wait(until: "\(names).startsWith('Liked by ') && \(names).includes('Quiet Reader')")
    _ = try await browser.evaluate("\(heart("m0-1")).click()")
    try await browser.wait(until: "\(names).startsWith('Liked by you')")
    _ = try await browser.evaluate("\(heart("m0-1")).click()")
    #expect(try await other.send(.delete, "timelines/0/likes/m0-1").head.status == 204)
    try await browser.wait(until: "\(names) === '\(before)'")
    withExtendedLifetime(server) {}
  }

  @Test func `of many who like a moment, three are named, and none changes the page by a name`() async throws {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    let hostile = "<img src=x onerror='window.hacked = true'><script>window.hacked = true</script>"
    let text = try await browser.evaluate(
      """
      (() => {
        events.close();
        const hostile = `\(hostile.replacing("</", with: "<\\/"))`, script = "javascript:window.hacked = true";
        const likes = [..."12345"].map(id => ({ id, name: hostile + id + "\\u202e" }));
        const author = { name: hostile, avatar: script };
        const moment = { id: hostile, userDetails: author, title: hostile, url: script, photos: [script], likes };
        const moments = [{ ...moment, createdDate: hostile }, { ...moment, id: "m", createdDate: "9e99", title: null }];
        draw({ owner: hostile, page: 1, pageCount: 1, age: 0, isOffline: false, isFollowed: true, moments });
        return document.querySelector("#moments .likers").textContent;
      })()
      """)
    let names = ["5", "4", "3"].map { "\u{2068}\(hostile)\($0)\u{202e}\u{2069}" }.joined(separator: ", ")
    #expect(text.stringValue == "Liked by \(names), and 2 others")
    // What runs by an error or a script has run by then.
    _ = try await browser.evaluate("new Promise(resolve => setTimeout(resolve, 500))")
    #expect(try await browser.evaluate("window.hacked === undefined") == true)
    #expect(
      try await browser.evaluate("document.querySelectorAll('#moments img, #moments script, #moments a').length") == 0)
    #expect(try await browser.evaluate("document.querySelectorAll('#moments li').length") == 2)
    withExtendedLifetime(server) {}
  }

  @Test func `the page runs under its policy, by which no script and no style in it would run`() async throws {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live' && \(text("browsers")) === '1'")
    // What the page has violated since it was opened, too.
    let violations =
      """
      new Promise(resolve => {
        new ReportingObserver(reports => resolve(reports.map(report => report.body.effectiveDirective).sort().join()),
          { types: ["csp-violation"], buffered: true }).observe();
        setTimeout(() => resolve(""), 1000);
      })
      """
    #expect(try await browser.evaluate(violations) == "")
    _ = try await browser.evaluate(
      """
      document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hacked = true" }));
      document.getElementById("none").setAttribute("style", "color: red");
      document.getElementById("place").setAttribute("onclick", "window.hacked = true");
      document.getElementById("place").click();
      """)
    #expect(try await browser.evaluate(violations) == "script-src-attr,script-src-elem,style-src-attr")
    #expect(try await browser.evaluate("window.hacked === undefined") == true)
    withExtendedLifetime(server) {}
  }

  @Test func `two browsers side by side show photos, what the server does and each other's likes, and find it again`()
    async throws
  {
    let bff = try await BFF()
    var server = try await Server(bff)
    let (one, other) = (try await Chromium(), try await Chromium())
    try await post([("Home", "#203a43 #2c5364 #f7971e"), ("The lake, early", "#355c7d #6c5b7b #c06c84")], to: bff, one)

    for browser in [one, other] { try await browser.open(page(server)) }
    for browser in [one, other] { try await browser.wait(until: "\(state) === 'live'") }
    let photos = "[...document.querySelectorAll('.photos img')]"
    try await one.wait(until: "\(photos).filter(photo => photo.complete && photo.naturalWidth === 240).length === 2")
    try await one.wait(until: "\(text("browsers")) === '2'")
    #expect(try await one.evaluate(text("subscriptions")) == "1")
    #expect(try await one.evaluate("/^[0-9]+ of [0-9]+$/.test(\(text("reads")))") == true)
    let heart = heart("m0-3")
    try await like(heart, in: one, shows: [one, other])
    try await like(heart, in: other, shows: [one, other])
    try await savePictures(of: one)

    let port = try #require(server.url.port)
    server.program.kill()
    for browser in [one, other] { try await browser.wait(until: "\(state) === 'not connected'") }
    #expect(try await one.evaluate("/^as of [0-9]+ seconds? ago$/.test(\(text("age")))") == true)
    #expect(try await one.evaluate(text("when")) == "What the server did when it was last heard")
    _ = try await server.program.status
    server = try await Server(bff, ["PORT": "\(port)"])
    for browser in [one, other] { try await browser.wait(until: "\(state) === 'live'") }
    #expect(try await one.evaluate(text("age")) == "")
    try await like(heart, in: one, shows: [one, other])
    withExtendedLifetime(server) {}
  }

  /// Presses a heart in a browser, and waits until all browsers show that it was.
  private func like(_ heart: String, in browser: Chromium, shows all: [Chromium]) async throws {
    let pressed = try #require(try await browser.evaluate("\(heart).ariaPressed").stringValue)
    _ = try await browser.evaluate("\(heart).click()")
    for browser in all { try await browser.wait(until: "\(heart).ariaPressed !== '\(pressed)'") }
  }

  /// Posts photos with titles, which a browser draws in some colors, as moments of user 0.
  private func post(_ moments: [(title: String, colors: String)], to bff: BFF, _ browser: Chromium) async throws {
    let session = PostPhotoSession(client: try APIClient(baseURL: bff.url, transport: SocketTransport()))
    for (title, colors) in moments {
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
      let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
      try #require(Data(base64Encoded: drawing.stringValue ?? "")).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      _ = try await session.postPhoto(.file(file, contentType: "image/png"), title: title, userID: "0").value
    }
  }

  /// Saves pictures of a page, in light and dark, to the file that `SCREENSHOT` names and one beside it.
  private func savePictures(of browser: Chromium) async throws {
    guard let file = ProcessInfo.processInfo.environment["SCREENSHOT"].map({ URL(filePath: $0) }) else { return }
    // Without those that cannot be had.
    let isBelow = "image.getBoundingClientRect().top > innerHeight"
    try await browser.wait(until: "[...document.images].every(image => image.complete || \(isBelow))")
    for (scheme, suffix) in [("dark", "~dark"), ("light", "")] {
      try await browser.emulate(scheme: scheme)
      let name = file.deletingPathExtension().lastPathComponent + suffix + ".png"
      try await browser.screenshot().write(to: file.deletingLastPathComponent().appending(path: name))
    }
  }

  @Test func `a page whose server no longer says anything does not say that it is live, and is again when it does`()
    async throws
  {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    server.program.pause()
    try await browser.wait(until: "\(state) === 'not connected'")
    server.program.resume()
    try await browser.wait(until: "\(state) === 'live'")
    withExtendedLifetime(server) {}
  }

  @Test func `a timeline is read and liked by the keyboard alone`() async throws {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    let heart = heart("m0-1")
    try await browser.tab(to: heart)
    #expect(try await browser.evaluate("getComputedStyle(\(heart)).outlineStyle") == "solid")
    #expect(try await browser.evaluate("/^Like .+: .+, [0-9]+ likes?$/.test(\(heart).ariaLabel)") == true)
    let pressed = try #require(try await browser.evaluate("\(heart).ariaPressed").stringValue)
    try await browser.press(.space)
    try await browser.wait(until: "\(heart).ariaPressed !== '\(pressed)'")
    #expect(try await browser.evaluate("document.activeElement === \(heart)") == true)
    try await browser.tab(to: "document.getElementById('older')")
    try await browser.press(.enter)
    try await browser.wait(until: "\(text("place")) === 'Page 2 of 3' && \(self.heart("m0-20")) !== null")
    #expect(try await browser.evaluate("document.activeElement.id") == "owner")
    _ = try await browser.evaluate("history.back()")
    try await browser.wait(until: "\(text("place")) === 'Page 1 of 3' && \(heart) !== null")
    withExtendedLifetime(server) {}
  }

  @Test(arguments: ["light", "dark"])
  func `on a narrow screen nothing is cut off, and all texts stand out from the ground`(scheme: String) async throws {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.emulate(width: 320, scheme: scheme)
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live' && \(text("browsers")) === '1'")
    #expect(try await browser.evaluate("document.documentElement.scrollWidth") == 320)
    // The ratio of WCAG 2.2, which asks for 4.5.
    let contrasts =
      """
      (() => {
        const light = element => property => {
          const [r, g, b] = getComputedStyle(element)[property].match(/[0-9.]+/g)
            .map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const ground = light(document.body)("backgroundColor");
        const texts = [...document.querySelectorAll("body *")].filter(element => element.checkVisibility()
          && !element.closest(".face, script, style, template"));
        const inks = texts.map(element => light(element)("color"));
        return [ground > 0.5 ? "light" : "dark", Math.min(...inks.map(ink => Math.max(ink, ground) / Math.min(ink, ground)))];
      })()
      """
    let result = try #require(try await browser.evaluate(contrasts).arrayValue)
    #expect(result.first?.stringValue == scheme)
    #expect(try #require(result.last?.numberValue) >= 4.5)
    withExtendedLifetime(server) {}
  }

  @Test func `while the backend is away, the page shows what is cached with its age, and is live again afterwards`()
    async throws
  {
    let bff = try await BFF()
    let server = try await Server(bff, ["STALE_TIME": "0", "CHECK_INTERVAL": "0"])
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    try await bff.kill()
    let isOffline = "\(state) === 'the backend is away' && /^as of [0-9]+ .+ ago$/.test(\(text("age")))"
    try await browser.wait(until: isOffline)
    _ = try await browser.evaluate("window.marker = 1")
    try await browser.open(page(server))
    try await browser.wait(until: "\(isOffline) && document.querySelectorAll('#moments li').length === 20")
    #expect(try await browser.evaluate("window.marker") == .null)
    let again = try await BFF(port: try #require(bff.url.port))
    try await browser.wait(until: "\(state) === 'live'")
    withExtendedLifetime((server, again)) {}
  }

  @Test func `a page that cannot sign in says so, and does not ask again and again`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    let browser = try await Chromium()
    let requests = "performance.getEntriesByType('resource').length"
    try await browser.open(page(server, user: "nobody"))
    try await browser.wait(until: "\(text("problem")).includes('no user')")
    #expect(try await browser.evaluate(state) == "not connected")
    try await bff.kill()
    try await browser.open(page(server))
    try await browser.wait(until: "\(text("problem")).startsWith('Signing in failed')")
    let later = "new Promise(resolve => setTimeout(() => resolve(\(requests)), 3000))"
    #expect(try #require(try await browser.evaluate(later).integerValue) < 10)
    withExtendedLifetime(server) {}
  }

  @Test func `a page that gets no changes does not say that it is live, although the backend responds`() async throws {
    let bff = try await BFF()
    let line = try Program.python("plain_line.py", ["\(try #require(bff.url.port))"])
    let port = try await line.line { Int($0) != nil }
    let server = try await Server(bff, ["BFF_URL": "http://127.0.0.1:\(port)/graphql"])
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "document.querySelectorAll('#moments li').length === 20")
    try await browser.wait(until: "\(state) === 'the backend sends no changes'")
    #expect(try await browser.evaluate("document.getElementById('state').className") == "")
    #expect(try await browser.evaluate("/^as of [0-9]+ seconds? ago$/.test(\(text("age")))") == true)
    withExtendedLifetime((server, line)) {}
  }

  @Test func `a page whose clock is set back does not say that it is live for as long`() async throws {
    let server = try await Server(BFF())
    let browser = try await Chromium()
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    // The connection stays open.
    server.program.pause()
    _ = try await browser.evaluate("{ const now = Date.now; Date.now = () => now() - 3_600_000; }")
    try await browser.wait(until: "\(state) === 'not connected'")
    server.program.resume()
    try await browser.wait(until: "\(state) === 'live'")
    withExtendedLifetime(server) {}
  }

  @Test func `a page that is not there is the first or the last one, and a refusal is shown with its reason`()
    async throws
  {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(
      page(server).appending(queryItems: [URLQueryItem(name: "page", value: "99999999999999999999")]))
    try await browser.wait(until: "\(state) === 'live' && \(text("place")) === 'Page 1 of 3'")
    try await browser.open(page(server).appending(queryItems: [URLQueryItem(name: "page", value: "7")]))
    try await browser.wait(until: "\(state) === 'live' && !document.getElementById('newer').hidden")
    _ = try await browser.evaluate("document.getElementById('newer').click()")
    try await browser.wait(until: "\(state) === 'live' && \(text("place")) === 'Page 3 of 3'")
    _ = try await browser.evaluate("page = 0, connect()")
    try await browser.wait(until: "\(text("problem")).includes('Pages are counted from 1.')")
    withExtendedLifetime(server) {}
  }

  @Test func `a page whose user turns pages while the backend is away signs in once at a time`() async throws {
    let bff = try await BFF("--auth", "graphql")
    let server = try await Server(bff)
    let browser = try await Chromium()
    try await bff.kill()
    try await browser.open(page(server))
    try await browser.wait(until: "\(text("problem")).startsWith('Signing in failed')")
    let waiting = try await browser.evaluate(
      """
      (async () => {
        const [set, clear, waiting] = [setTimeout, clearTimeout, new Set()];
        setTimeout = (action, pause) => {
          const timer = set(() => { waiting.delete(timer); action(); }, pause);
          waiting.add(timer);
          return timer;
        };
        clearTimeout = timer => { waiting.delete(timer); clear(timer); };
        for (let turn = 0; turn < 5; turn++) {
          const before = waiting.size && Math.max(...waiting);
          onpopstate();
          while (!waiting.size || Math.max(...waiting) === before) await new Promise(resolve => set(resolve, 10));
        }
        return waiting.size;
      })()
      """)
    #expect(waiting == 1)
    withExtendedLifetime(server) {}
  }

  @Test func `a page does not say that it is live once its server has gone, and reports a like that fails`()
    async throws
  {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let color = "document.getElementById('state').className"
    try await browser.wait(until: "\(state) === 'live' && \(color) === 'live'")
    server.program.kill()
    try await browser.wait(until: "\(state) === 'not connected' && \(text("age")).startsWith('as of ')")
    #expect(try await browser.evaluate(color) == "")
    _ = try await browser.evaluate("\(heart("m0-0")).click()")
    try await browser.wait(until: "\(text("problem")).startsWith('The like was not saved')")
  }

  @Test func `a heart that is pressed keeps the focus, and says that it is pressed`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let heart = heart("m0-1")
    try await browser.wait(until: "\(heart)?.ariaPressed === 'false'")
    _ = try await browser.evaluate("\(heart).focus(), \(heart).click()")
    try await browser.wait(until: "\(heart).ariaPressed === 'true'")
    #expect(try await browser.evaluate("document.activeElement === \(heart)") == true)
    let first = "document.querySelector('[data-id=\"m0-0\"]')"
    #expect(try await browser.evaluate("\(first).querySelector('time').dateTime.startsWith('20')") == true)
    #expect(try await browser.evaluate("\(first).querySelector('small').textContent") == "· 1 photo")
    withExtendedLifetime(server) {}
  }

  @Test func `a heart that is pressed again before the response is set back after it`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    try await browser.open(page(server))
    let heart = heart("m0-1")
    try await browser.wait(until: "\(heart)?.ariaPressed === 'false' && \(state) === 'live'")
    // The response is held back until the heart shows the like, and is pressed again.
    let methods =
      """
      (async () => {
        const [send, methods] = [fetch, []];
        fetch = async (path, options) => {
          methods.push(options.method);
          const response = await send(path, options);
          while (methods.length === 1 && \(heart).ariaPressed !== "true") await new Promise(next => setTimeout(next, 10));
          if (methods.length === 1) \(heart).click();
          return response;
        };
        \(heart).click();
        \(heart).click();
        while (\(heart).ariaBusy === "true") await new Promise(next => setTimeout(next, 10));
        return methods.join();
      })()
      """
    #expect(try await browser.evaluate(methods) == "PUT,DELETE")
    let isLiked =
      """
      send("GET", `${path}?${as}`).then(response => response.json())
        .then(({ moments }) => moments[1].likes.some(liker => liker.id === user))
      """
    #expect(try await browser.evaluate(isLiked) == false)
    withExtendedLifetime(server) {}
  }

  @Test func `a browser that has two users' tabs keeps them apart`() async throws {
    let server = try await Server(BFF("--auth", "graphql"))
    let browser = try await Chromium()
    let heart = heart("m1-0")
    try await browser.open(page(server))
    try await browser.wait(until: "\(state) === 'live'")
    try await browser.open(page(server, user: "1"))
    try await browser.wait(until: "\(heart) !== null")
    let pressed = try #require(try await browser.evaluate("\(heart).ariaPressed").stringValue)
    _ = try await browser.evaluate("\(heart).click()")
    // The like is that of the user whose heart it is: it shows.
    try await browser.wait(until: "\(heart).ariaPressed !== '\(pressed)'")
    withExtendedLifetime(server) {}
  }
}
