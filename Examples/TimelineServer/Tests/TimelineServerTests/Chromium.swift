import Foundation
import HTTPClientCore
import SocketHTTP
import Streams
import StrictJSON
import Synchronization

/// A tab of a headless Chromium, driven by the Chrome DevTools Protocol; the browser ends with this object.
final class Chromium: Sendable {
  /// Where the browser is; `nil` if it is not installed (on Debian: `apt-get install chromium`).
  static let path: String? = ["chromium", "chromium-browser", "google-chrome"].lazy
    .flatMap { name in ["/usr/bin/", "/usr/local/bin/", "/snap/bin/"].map { $0 + name } }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  private struct State {
    var lastID: Int64 = 0
    var waiting: [Int64: CheckedContinuation<JSONValue, any Error>] = [:]
    var isClosed = false
  }

  private let program: Program
  /// What the browser writes; removed with it.
  let profile: URL
  private let connection: WebSocketConnection
  private let subscription: any Disposable
  private let state: Shared

  /// What the connection's observer and the callers share.
  private final class Shared: Sendable {
    let value = Mutex(State())

    func receive(_ text: String) {
      guard let message = try? JSONCoder().decode(JSONValue.self, from: Data(text.utf8)),
        let id = message["id"]?.integerValue
      else { return }
      let waiting = value.withLock { $0.waiting.removeValue(forKey: id) }
      if let error = message["error"]?["message"]?.stringValue {
        waiting?.resume(throwing: DevToolsError(description: error))
      } else {
        waiting?.resume(returning: message["result"] ?? .null)
      }
    }

    func close() {
      let waiting = value.withLock { state in
        defer { state.waiting = [:] }
        state.isClosed = true
        return state.waiting.values
      }
      for one in waiting { one.resume(throwing: DevToolsError(description: "the browser has gone")) }
    }
  }

  init() async throws {
    profile = FileManager.default.temporaryDirectory.appending(path: "chromium-\(UUID().uuidString)")
    program = try Program(URL(filePath: Self.path ?? ""), Self.arguments(profile))
    let line = try await program.line { $0.hasPrefix("DevTools listening on ") }
    let transport = SocketTransport()
    let browser = try WebSocketRequest(
      url: line.split(separator: " ").last.flatMap { URL(string: String($0)) } ?? profile)
    let list = try HTTPRequest(
      method: .get, url: URL(string: "http://127.0.0.1:\(browser.url.port ?? 0)/json/list") ?? profile)
    let tabs = try JSONCoder().decode(
      JSONValue.self, from: try await transport.send(list).collect(upTo: 1 << 20).value.body
    ).arrayValue
    let tab = tabs?.first { $0["type"] == "page" }?["webSocketDebuggerUrl"]?.stringValue
    var request = try WebSocketRequest(url: tab.flatMap { URL(string: $0) } ?? profile)
    request.limits.message = 64 << 20
    let shared = Shared()
    let opened = ReplaySubject<WebSocketConnection>.create(bufferSize: 1)
    subscription = transport.connect(request).subscribe(
      onNext: { event in
        switch event {
        case .opened(let connection): opened.onNext(connection)
        case .message(.text(let text)): shared.receive(text)
        default: break
        }
      },
      onError: { error in
        opened.onError(error)
        shared.close()
      },
      onCompleted: { shared.close() })
    connection = try await opened.asObservable().value
    state = shared
    _ = try await call("Page.enable")
  }

  /// The arguments of a browser that writes to a folder.
  static func arguments(_ profile: URL) -> [String] {
    [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=900,900",
      "--hide-scrollbars", "--remote-debugging-port=0", "--user-data-dir=\(profile.path)", "about:blank",
    ]
  }

  deinit {
    subscription.dispose()
    program.stop()
    try? FileManager.default.removeItem(at: profile)
  }

  /// Opens a page, or opens it again.
  func open(_ url: URL) async throws { _ = try await call("Page.navigate", ["url": .string(url.absoluteString)]) }

  /// The value of an expression, or of the promise that it is.
  func evaluate(_ expression: String) async throws -> JSONValue {
    let result = try await call(
      "Runtime.evaluate", ["expression": .string(expression), "awaitPromise": true, "returnByValue": true])
    if let exception = result["exceptionDetails"] {
      throw DevToolsError(description: exception["exception"]?["description"]?.stringValue ?? "\(exception)")
    }
    return result["result"]?["value"] ?? .null
  }

  /// Waits until a condition is true, which the page is asked for with each change of it.
  func wait(until condition: String) async throws {
    _ = try await evaluate(
      """
      new Promise((resolve, reject) => {
        const look = () => { if (document.readyState !== "loading" && (\(condition))) resolve(true); };
        document.addEventListener("readystatechange", look);
        new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        setTimeout(() => reject(new Error("not true in 30 s: " + document.body.innerText)), 30000);
        look();
      })
      """)
  }

  /// A key that a test presses.
  enum Key: String {
    case tab = "Tab"
    case space = " "
    case enter = "Enter"

    fileprivate var parameters: [String: JSONValue] {
      let (code, text): (Int64, JSONValue) =
        switch self {
        case .tab: (9, "")
        case .space: (32, " ")
        case .enter: (13, "\r")
        }
      return ["key": .string(rawValue), "windowsVirtualKeyCode": .integer(code), "text": text]
    }
  }

  /// Presses a key and lets it go.
  func press(_ key: Key) async throws {
    for type in ["keyDown", "keyUp"] {
      _ = try await call("Input.dispatchKeyEvent", key.parameters.merging(["type": .string(type)]) { $1 })
    }
  }

  /// Presses the tab key until an element has the focus.
  func tab(to element: String) async throws {
    for _ in 0..<100 {
      if try await evaluate("document.activeElement === \(element)") == true { return }
      try await press(.tab)
    }
    throw DevToolsError(description: "the tab key does not lead to \(element)")
  }

  /// Shows pages as on a screen of this width, and in the color scheme `light` or `dark`.
  func emulate(width: Int64? = nil, scheme: String) async throws {
    if let width {
      _ = try await call(
        "Emulation.setDeviceMetricsOverride",
        ["width": .integer(width), "height": 640, "deviceScaleFactor": 1, "mobile": true])
    }
    let scheme: JSONValue = ["name": "prefers-color-scheme", "value": .string(scheme)]
    _ = try await call("Emulation.setEmulatedMedia", ["features": .array([scheme])])
  }

  /// A picture of the page, as PNG.
  func screenshot() async throws -> Data {
    let result = try await call("Page.captureScreenshot")
    return Data(base64Encoded: result["data"]?.stringValue ?? "") ?? Data()
  }

  private func call(_ method: String, _ parameters: [String: JSONValue] = [:]) async throws -> JSONValue {
    try await withCheckedThrowingContinuation { continuation in
      let id = state.value.withLock { state -> Int64? in
        if state.isClosed { return nil }
        state.lastID += 1
        state.waiting[state.lastID] = continuation
        return state.lastID
      }
      guard let id else { return continuation.resume(throwing: DevToolsError(description: "the browser has gone")) }
      let message: JSONValue = ["id": .integer(id), "method": .string(method), "params": .object(parameters)]
      do {
        try connection.send(String(decoding: message.json(), as: UTF8.self))
      } catch {
        state.value.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: error)
      }
    }
  }
}

/// What went wrong in the browser.
struct DevToolsError: Error, CustomStringConvertible {
  let description: String
}
