import Foundation
import HTTPClientCore
import Streams
import TestSupport
import Testing
import URLSessionHTTP

#if compiler(<6.4)
  /// What Foundation makes impossible, as the documentation of `URLSessionTransport` says.
  struct URLSessionFaultTests {
    @Test func `a cut head, trailers and a huge length end the process`() async {
      let endings = [
        await #expect(processExitsWith: .failure) {
          await URLSessionFaultTests.outlive("HTTP/1.1 200 OK\r\nContent-Le")
        },
        await #expect(processExitsWith: .failure) {
          await URLSessionFaultTests.outlive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n")
        },
        await #expect(processExitsWith: .failure) {
          await URLSessionFaultTests.outlive("HTTP/1.1 200 OK\r\nContent-Length: \(Int64.max)\r\n\r\n")
        },
      ]
      // A trap, whatever the signal of this processor's is.
      for ending in endings {
        guard case .signal(let signal) = ending?.exitStatus, signal != SIGALRM else {
          Issue.record("The process ended with \(String(describing: ending?.exitStatus)).")
          continue
        }
      }
    }

    /// Ends the process in success, whatever comes of an exchange with such an answer.
    private static func outlive(_ answer: String) async -> Never {
      endProcess()
      guard let server = try? ScriptedServer([.readRequest, .send(answer), .close]),
        let request = try? HTTPRequest(method: .get, url: server.url)
      else { exit(EXIT_SUCCESS) }
      _ = try? await URLSessionTransport().send(request).collect(upTo: 100).value
      withExtendedLifetime(server) { exit(EXIT_SUCCESS) }
    }
  }
#endif
