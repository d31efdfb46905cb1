package import HTTP
package import Streams

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
