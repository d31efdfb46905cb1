import CAllocations
import Foundation
import GraphQLClient
import HTTPClientCore
import Measuring
import Streams
import Synchronization

/// The cost of a request for a client without an observer, and the additional cost of an observer: over a transport
/// that responds at once, on the calling thread, so that nothing else is counted.
@main
struct Main {
  static func main() throws {
    let rounds = max(5, CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 7)
    guard let url = URL(string: "http://127.0.0.1:1/") else { return }
    let plain = try APIClient(baseURL: url, transport: InstantTransport())
    var observed = plain
    observed.observer = Silent()
    let clients = [("no observer", plain), ("an observer that does nothing", observed)]
    var times = clients.map { _ in [Double]() }
    var allocations = clients.map { _ in 0.0 }
    for round in 0...rounds {
      for (index, (_, client)) in clients.enumerated() {
        let cost = try cost(of: client, count: 20_000)
        allocations[index] = cost.allocations
        // The first round warms up.
        if round > 0 { times[index].append(cost.nanoseconds) }
      }
    }
    print("| client | ns | allocations |\n|---|---|---|")
    for (index, (name, _)) in clients.enumerated() {
      print("| \(name) | \(Int(times[index].sorted()[rounds / 2])) | \(allocations[index]) |")
    }
  }

  private static func cost(of client: APIClient, count: Int) throws -> (nanoseconds: Double, allocations: Double) {
    let answers = Atomic(0)
    let before = allocation_count()
    let start = processorNanoseconds()
    for _ in 0..<count {
      _ = Ping().get(on: client).subscribe(onNext: { _ in answers.add(1, ordering: .relaxed) })
    }
    let result = ((processorNanoseconds() - start) / Double(count), Double(allocation_count() - before) / Double(count))
    guard answers.load(ordering: .relaxed) == count else { throw RequestError(.unknown, "Some were not answered.") }
    return result
  }
}

private struct Ping: APISession {
  typealias ResponseType = NoContent
  var responseParser: ResponseParser<NoContent> { .noContent }
}

private struct InstantTransport: HTTPTransport {
  func send(_ request: HTTPRequest) -> Observable<HTTPResponsePart> {
    .just(.head(HTTPResponseHead(status: 204)))
  }
}

private struct Silent: RequestObserver {
  func begin(_ request: inout HTTPRequest) -> @Sendable (RequestEvent) -> Void {
    { _ in }
  }
}
