/// What an outbox has to do, in the fewest words: lists in memory, and a server that is asked at once.
struct OutboxModel {
  enum Mood: CaseIterable {
    case answers, isAway, losesAnswers, refuses, wantsToken, fails
  }

  struct Entry: Equatable {
    let mutation: String
    var attempts = 0
    var firstAttempt: Int?
    var isRefused = false
  }

  private enum Ending: Equatable {
    case done
    case told(String)
    case waits(String)
  }

  var mood = Mood.answers
  /// In seconds.
  var now = 0
  private(set) var entries: [Entry] = []
  private(set) var received: [String] = []

  static func isIdempotent(_ mutation: String) -> Bool { mutation.hasPrefix("i") }

  var contents: [String] { entries.map { $0.isRefused ? "[\($0.mutation)]" : $0.mutation } }

  mutating func submit(_ mutation: String) -> String {
    entries.append(Entry(mutation: mutation))
    guard case (let outcome, .waits(let kind)?) = send(for: mutation) else {
      return entries.contains { $0.mutation == mutation } ? "lost" : lastOutcome
    }
    return outcome ?? "queued: \(kind)"
  }

  mutating func flush() { _ = send(for: nil) }

  mutating func discard(_ place: Int) { entries.remove(at: place) }

  private var lastOutcome = ""

  /// Sends what waits; gives what the waiter was told, and why the rest waits.
  private mutating func send(for waiter: String?) -> (String?, Ending?) {
    var outcome: String?
    while let place = entries.firstIndex(where: { !$0.isRefused }) {
      let mutation = entries[place].mutation
      switch attempt(place) {
      case .done:
        entries.remove(at: place)
        if mutation == waiter { outcome = "did \(mutation)" }
      case .told(let kind):
        if mutation == waiter {
          entries.remove(at: place)
          outcome = kind
        } else {
          entries[place].isRefused = true
        }
        let isOfServer = kind != "GraphQL" && !Self.isIdempotent(mutation)
        if isOfServer, entries.contains(where: { !$0.isRefused }) { return (outcome, .waits(kind)) }
      case .waits(let kind):
        return (outcome, .waits(kind))
      }
    }
    lastOutcome = outcome ?? ""
    return (outcome, nil)
  }

  private mutating func attempt(_ place: Int) -> Ending {
    if mood == .isAway { return .waits("cannot connect") }
    received.append(entries[place].mutation)
    switch mood {
    case .answers, .isAway: return .done
    case .refuses: return .told("GraphQL")
    case .wantsToken: return .waits("HTTP status")
    case .losesAnswers, .fails:
      let kind = mood == .fails ? "HTTP status" : "connection lost"
      let first = entries[place].firstAttempt ?? now
      entries[place].attempts += 1
      entries[place].firstAttempt = first
      let isEarly = entries[place].attempts < 8 || now - first < 3_600
      let mayGoAgain = Self.isIdempotent(entries[place].mutation) && isEarly
      return mayGoAgain ? .waits(kind) : .told(kind)
    }
  }
}
