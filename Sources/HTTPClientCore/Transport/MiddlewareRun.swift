package import Streams
import SystemBase

/// One request on its way through middlewares that decide, the first of them outermost.
///
///     passages    0 ──► 1 ──► 2 ──► next       depart, inwards
///                 0 ◄── 1 ◄── 2 ◄── parts      receive and decide, outwards
///                       └───► 2 ──► next       where 1 replaces, 2 and what is inside of it leave, and pass again
///
/// `@unchecked Sendable`: `held` and `holder` are touched only by `next` and `end`, which `handled` calls one at a time.
package final class MiddlewareRun: SourceHandler, @unchecked Sendable {
  /// The place of a passage in a run: no two have the same one, and one that has left has none.
  package struct Place: Sendable {
    fileprivate let run: MiddlewareRun
    fileprivate let interruption: Interruption
    fileprivate var number = 0
    fileprivate var uptime = Duration.uptime

    /// The entry of the request, which all that is sent for it has in common.
    package var entry: RequestEntry { run.entry }

    /// The time by a scheduler's clock when the request began to pass here, and in those passed at once before. The clock of
    /// most schedulers is one and the same, which is read once for all of them.
    package func time(by scheduler: any Scheduler) -> Duration {
      type(of: scheduler) == ConcurrentScheduler.self ? uptime : scheduler.now
    }

    /// The same place, after a wait.
    fileprivate var now: Place {
      Place(run: run, interruption: interruption, number: number)
    }

    /// Fails what is inside of the passage with the error that a closure gives, if it gives one and the passage has not
    /// left: called when no other call to a passage is in flight.
    package func interrupt(_ error: @escaping @Sendable () -> (any Error)?) {
      interruption { run.interrupted(number, by: error) }
    }
  }

  private struct Entry {
    let number: Int
    let passage: (any RequestPassage)?
  }

  private struct Passages {
    /// Of the middlewares that the request has come to.
    var list: [Entry] = []
    /// The number of the place of the passage that begins next.
    var next = 0
    /// Those that are to leave once their source is torn down.
    var leaving: [Entry] = []
    var isOver = false

    /// The index of a passage, also of one that is just beginning; `nil` if it has left.
    func index(of number: Int) -> Int? {
      number == next ? list.count : list.firstIndex { $0.number == number }
    }

    /// From now on, those inside of a passage have no place, though they leave only when their source has been torn down.
    mutating func clear(inside index: Int) {
      leaving += list.dropFirst(index + 1)
      list.removeLast(max(list.count - index - 1, 0))
      next += 1
    }

    mutating func takeAll() -> [Entry] { exchange(&list, with: []) + exchange(&leaving, with: []) }
  }

  /// The place of a passage, and how many bytes of a response it holds back.
  private typealias Holder = (index: Int, limit: Int)

  /// What a passage has decided while the source has not ended.
  private enum Outcome: Error {
    case replaced(Replacement)
    case failed(any Error, inside: Int)
    case interrupted(any Error, inside: Int)
  }

  private let deciders: [any RequestDecider]
  private let request: HTTPRequest
  private let entry: RequestEntry
  private let send: @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  private let passages: Locked<Passages>
  /// A response that is held back, for the passage at an index, and those outside of it.
  @exclusivity(unchecked) private var held: HTTPResponse?
  @exclusivity(unchecked) private var holder: Holder = (0, 0)

  package init(
    _ deciders: [any RequestDecider], _ request: HTTPRequest,
    next: @escaping @Sendable (HTTPRequest) -> Observable<HTTPResponsePart>
  ) {
    self.deciders = deciders
    var passages = Passages()
    passages.list.reserveCapacity(deciders.count)
    self.passages = Locked(passages)
    var request = request
    entry = request.entered()
    self.request = request
    send = next
  }

  // MARK: - On the way out

  package func start(_ interruption: @escaping Interruption) throws -> Observable<HTTPResponsePart> {
    depart(request, from: 0, at: Place(run: self, interruption: interruption))
  }

  /// Sends a request through the middlewares from an index on, the first of them at a place. Those outside decide about
  /// what they throw.
  private func depart(_ request: HTTPRequest, from start: Int, at place: Place) -> Observable<HTTPResponsePart> {
    do {
      var (request, place) = (request, place)
      for index in start..<deciders.count {
        let passage = try deciders[index].passage(of: request, at: place)
        guard enter(passage, at: place.number) else { return .never() }
        place.number += 1
        switch try passage?.depart() {
        case nil, .unchanged: break
        case .now(let sent): request = sent
        case .later(let sent):
          return sent.take(1).flatMap { [self, place] in depart($0, from: index + 1, at: place.now) }
        }
      }
      return send(request)
    } catch {
      return .error(error)
    }
  }

  /// Returns false if the request was disposed, or is sent again by a middleware outside.
  private func enter(_ passage: (any RequestPassage)?, at number: Int) -> Bool {
    let isEntered = passages.withLock { passages in
      guard !passages.isOver, passages.next == number else { return false }
      passages.list.append(Entry(number: number, passage: passage))
      passages.next += 1
      return true
    }
    if !isEntered { passage?.leave() }
    return isEntered
  }

  private func interrupted(_ number: Int, by error: () -> (any Error)?) -> (any Error)? {
    guard let index = passages.withLock({ $0.index(of: number) }), let error = error() else { return nil }
    // Those inside have no say any more, whatever else comes before this takes effect.
    passages.withLock { $0.clear(inside: index) }
    return Outcome.interrupted(error, inside: index)
  }

  package func dispose() {
    leave(
      passages.withLock { passages in
        passages.isOver = true
        return passages.takeAll()
      })
  }

  private func leave(_ entries: [Entry]) {
    for index in entries.indices.reversed() { entries[index].passage?.leave() }
  }

  // MARK: - On the way back

  package func next(_ part: HTTPResponsePart, _ emit: (HTTPResponsePart) -> Void) throws {
    switch part {
    case .head(let head):
      guard let holder = holder(of: head, outside: deciders.count) else { return emit(part) }
      self.holder = holder
      held = HTTPResponse(head: head)
    case .body(let piece):
      guard let length = held?.body.count else { return emit(part) }
      // Most responses are a single piece, which is not copied.
      if length == 0 { held?.body = piece } else { held?.body.append(piece) }
      if length + piece.count > holder.limit { try passOn(emit) }
    case .trailers(let fields):
      if held == nil { emit(part) } else { held?.trailers = fields }
    }
  }

  /// A response is longer than a passage holds back: it passes that one, and all outside of it up to one that holds
  /// more back.
  private func passOn(_ emit: (HTTPResponsePart) -> Void) throws(Outcome) {
    guard let response = held.take() else { return }
    while let passage = passage(at: holder.index) {
      try decide(passage, on: response, at: holder.index, isWhole: false)
      guard let outer = self.holder(of: response.head, outside: holder.index) else {
        return response.forEachPart(emit)
      }
      holder = outer
      if response.body.count <= outer.limit { return held = response }
    }
  }

  package func end(
    _ error: (any Error)?, _ interruption: @escaping Interruption, _ emit: (HTTPResponsePart) -> Void
  ) throws -> Observable<HTTPResponsePart>? {
    let held = held.take()
    do {
      switch error {
      case nil:
        try complete(held, emit)
        // Who sends another request at the end finds their slots free.
        leave(passages.withLock { $0.takeAll() })
      case let outcome as Outcome: throw outcome
      case let error?: throw Outcome.failed(error, inside: list.count)
      }
      return nil
    } catch Outcome.failed(let error, let index) {
      do { return stream(of: try replacement(of: error, inside: index), interruption) } catch {
        // Who sends another request at this error finds their slots free.
        leave(passages.withLock { $0.takeAll() })
        throw error
      }
    } catch Outcome.interrupted(let error, let index) {
      return stream(of: try replacement(of: error, inside: index), interruption)
    } catch Outcome.replaced(let replacement) {
      return stream(of: replacement, interruption)
    }
  }

  /// The response is complete: those for whom it was held back, and those outside of them, decide.
  private func complete(_ held: HTTPResponse?, _ emit: (HTTPResponsePart) -> Void) throws(Outcome) {
    let list = list
    guard let held else { return list.reversed().forEach { $0.passage?.complete() } }
    for index in list.indices.reversed() {
      guard let passage = list[index].passage else { continue }
      if index <= holder.index, let limit = index == holder.index ? holder.limit : passage.receive(held.head) {
        try decide(passage, on: held, at: index, isWhole: held.body.count <= limit)
      }
      passage.complete()
    }
    held.forEachPart(emit)
  }

  /// Asks the passages outside of an index about an error, from the inside out. Throws the error that is left.
  private func replacement(of error: any Error, inside index: Int) throws -> Replacement {
    let list = list
    var error = error
    for index in list.indices.prefix(index).reversed() {
      do {
        guard case .replace(let request)? = try list[index].passage?.decide(on: error) else { continue }
        return Replacement(request: request, index: index)
      } catch let other {
        error = other
      }
    }
    throw error
  }

  /// Shows a response's head to the passages outside of an index, up to one that holds the response back.
  private func holder(of head: HTTPResponseHead, outside index: Int) -> Holder? {
    let list = list
    for index in list.indices.prefix(index).reversed() {
      if let limit = list[index].passage?.receive(head) { return (index, limit) }
    }
    return nil
  }

  private func decide(
    _ passage: any RequestPassage, on response: HTTPResponse, at index: Int, isWhole: Bool
  ) throws(Outcome) {
    let decision: Decision
    do {
      decision = try passage.decide(on: response, isWhole: isWhole)
    } catch {
      throw .failed(error, inside: index)
    }
    guard case .replace(let request) = decision else { return }
    throw .replaced(Replacement(request: request, index: index, response: response, isWhole: isWhole))
  }

  /// Empty once the request is disposed.
  private var list: [Entry] { passages.withLock { $0.list } }

  private func passage(at index: Int) -> (any RequestPassage)? {
    passages.withLock { index < $0.list.count ? $0.list[index].passage : nil }
  }

  // MARK: - Once more

  /// What a passage has decided: its request goes out in the place of what has come back.
  private struct Replacement {
    /// `nil` if the response passes after all.
    let request: Observable<HTTPRequest?>
    let index: Int
    var response: HTTPResponse?
    var isWhole = false
  }

  /// Inside of the passage, all pass once more.
  private func stream(
    of replacement: Replacement, _ interruption: @escaping Interruption
  ) -> Observable<HTTPResponsePart> {
    let (index, response) = (replacement.index, replacement.response)
    let number = passages.withLock { passages in
      passages.clear(inside: index)
      return passages.next
    }
    return .deferred { [self] in
      leave(passages.withLock { exchange(&$0.leaving, with: []) })
      return replacement.request.take(1).flatMap { [self] request in
        if let request {
          return depart(request, from: index + 1, at: Place(run: self, interruption: interruption, number: number))
        }
        guard let response, replacement.isWhole else { return .error(Self.cutOff(response)) }
        return .from(response.parts)
      }
    }
  }

  /// The error of a response of which only a part is left.
  private static func cutOff(_ response: HTTPResponse?) -> RequestError {
    let (status, text) = (response?.head.status, response.map { " with status \($0.head.status)" } ?? "")
    return RequestError(
      .httpStatus, "The server responded\(text), and the response was too long to be held back.", status: status)
  }
}
