import HTTPClientCore
import SystemBase

/// Asks a proxy for a tunnel to the server (RFC 9110, section 9.3.6).
struct ProxyTunnel {
  private let channel: PlainChannel
  private let route: Route
  private let proxy: ProxyServer
  private var outbound: Outbound
  private var parser = HTTP1Parser(answering: .connect)

  init(_ channel: PlainChannel, to route: Route, through proxy: ProxyServer) {
    self.channel = channel
    self.route = route
    self.proxy = proxy
    let writer = RequestWriter(proxyAuthorization: proxy.authorization)
    outbound = Outbound(writer.connectHead(toHost: route.host, port: route.port))
  }

  /// Writes and reads as much as possible without blocking, until the tunnel is established.
  mutating func advance(using buffer: UnsafeMutableRawBufferPointer) -> StepOutcome {
    while !outbound.isEmpty {
      switch outbound.withNext(channel.write) {
      case .taken(let count): outbound.advance(by: count)
      case .blocked: return .blocked
      case .failed(let error): return .failed(error)
      }
    }
    channel.beginReading(isOver: true)
    while true {
      switch channel.read(into: buffer) {
      case .bytes(let count):
        if let outcome = didReceive(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { return outcome }
      case .blocked: return .blocked
      case .end: return .failed(failure("it closed the connection"))
      case .failed(let error): return .failed(error)
      }
    }
  }

  private mutating func didReceive(_ bytes: UnsafeRawBufferPointer) -> StepOutcome? {
    var parts: [HTTPResponsePart] = []
    do throws(RequestError) {
      let count = try parser.consume(bytes, into: &parts)
      guard case .head(let head)? = parts.first else { return nil }
      guard head.isSuccess else {
        return .failed(failure("it responded with status \(head.status)", status: head.status))
      }
      // In the tunnel, the client is the first to send.
      return count == bytes.count ? .done : .failed(failure("it sent more than its response"))
    } catch {
      return .failed(failure(error.message))
    }
  }

  private func failure(_ reason: String, status: Int? = nil) -> RequestError {
    RequestError(
      .cannotConnect, "The proxy \(proxy) gave no tunnel to '\(route.host)': \(reason).", status: status)
  }
}
