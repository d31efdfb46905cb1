package import Foundation
package import HTTPClientCore
package import Streams

/// A text that must be found nowhere.
package let canary = "CANARY-6f1d2c3b4a596877"

/// Every control character: C0, DEL and C1.
package let controls = (Array(0x00...0x1F) + Array(0x7F...0x9F)).compactMap { Unicode.Scalar($0 as Int) }

package func url(_ text: String) throws -> URL {
  guard let url = URL(string: text) else { throw URLError(.badURL) }
  return url
}

package func request(
  _ text: String = "http://127.0.0.1/graphql", headers: HTTPHeaders = [:], body: Data? = nil,
  operationName: String? = nil
) throws -> HTTPRequest {
  try HTTPRequest(
    method: .post, url: url(text), headers: headers, body: body, operationName: operationName)
}

/// All that printing and dumping a value shows of it.
package func everythingShown(of value: Any) -> String {
  var text = "\(value) \(String(reflecting: value)) "
  dump(value, to: &text)
  return text
}

extension Observable {
  /// The error that comes in the place of a first element.
  package var failure: RequestError? {
    get async {
      do {
        _ = try await value
        return nil
      } catch {
        return error as? RequestError
      }
    }
  }

  /// All elements.
  package var elements: [Element] {
    get async throws {
      var elements: [Element] = []
      for try await element in values(bufferingPolicy: .unbounded) { elements.append(element) }
      return elements
    }
  }
}
