import GraphQLClient
import GraphQLSchema
import HTTPClientCore
import StrictJSON
import SystemBase

/// Holds the type of a session's data to the responses that a correct server may send.
///
/// Each response is read twice: by the real decoder, which decides, and by a recording decoder, which explains. What only
/// the recording finds fault with is no finding, and nor is what the type catches by itself.
struct ResponseCheck<ResponseData: Decodable & Sendable> {
  private let generator: ResponseGenerator
  private let decoder: any BodyDecoder
  private let readBack: ReadBack
  private let userInfo: [CodingUserInfoKey: Any]
  private let parser: ResponseParser<GraphQLResponse<ResponseData>>
  private let exploration = Exploration()
  private let root = Place(path: "data")
  private let hasUnknownFields: Bool

  private var findings: [Found] = []
  /// Where a finding is among them.
  private var known: [Recording.Problem.Key: Int] = [:]
  private var guessed: Set<String> = []
  private var byteReaders: [String: String] = [:]
  /// The places in the order in which they were first filled, each with the response that did it.
  private var places: [(place: Place, pass: Exploration.Pass)] = []
  /// Whether a recording ended early, so that not everything that is read was seen.
  private var isIncomplete = false
  private var isCut = false
  /// How many values were recorded.
  private var recorded = 0
  /// The work that was done: how many values were read, and those of responses that were made or recorded by what that
  /// costs.
  private(set) var work = 0
  /// The last response from which others differ in one value, and the last in which it was tried what is read.
  private var lastText: (base: Int, text: ResponseText)?
  private var lastWhole: (number: Int, text: ResponseText, isAccepted: Bool)?

  /// A finding, and what it is about.
  private struct Found {
    let problem: Recording.Problem
    var subjects: [String]
    /// Whether only responses from the future have shown it so far.
    var isFuture: Bool
    var condition: String?
    var witness: String

    var finding: SessionCheck.Finding {
      .init(
        severity: isFuture ? .warning : problem.severity, path: problem.key.path,
        message: problem.message(subjects), condition: condition, witness: witness)
    }
  }

  /// How many values are recorded before responses count as large. Large ones are only read by the real decoder, as long as
  /// that accepts them, and one of them tries many values.
  private static var mostRecorded: Int { 100_000 }

  /// The most work that is done: a few seconds.
  private static var mostWork: Int { 20_000_000 }

  /// How many values the real decoder reads while one is made, or recorded.
  private static var costOfMaking: Int { 8 }

  /// How many errors are looked for.
  private static var mostErrors: Int { 100 }

  init(
    plan: OperationPlan, samples: ScalarSamples, decoder: any BodyDecoder, encoder: any BodyEncoder,
    parser: ResponseParser<GraphQLResponse<ResponseData>>
  ) {
    self.parser = parser
    generator = ResponseGenerator(plan: plan, samples: samples, chooser: exploration)
    self.decoder = decoder
    readBack = ReadBack(encoder: encoder, decoder: decoder)
    userInfo = decoder.userInfo
    hasUnknownFields = plan.hasUnknownFields
  }

  mutating func check(_ report: inout SessionCheck.Report) {
    var alike: [Int: [Exploration.Pass]] = [:]
    while report.responses < SessionCheck.responseLimit, !isExhausted, let pass = exploration.nextPass() {
      report.responses += 1
      if isLarge, let base = pass.difference?.base { alike[base, default: []].append(pass) } else { check(pass) }
    }
    var isWhole = true
    for (_, passes) in alike.sorted(by: { $0.key < $1.key }) where !checkTogether(passes) { isWhole = false }
    if !isWhole || exploration.nextPass() != nil {
      report.unexplored.append(
        work > Self.mostWork
          ? "The responses are too many for their size; the rest was not tried."
          : findings.count > Self.mostErrors
            ? "There are more than \(Self.mostErrors) findings; others were not looked for."
            : "There are more than \(SessionCheck.responseLimit) alternatives; the rest was not tried.")
    }
    if isCut {
      report.unexplored.append(
        "There are more than \(ResponseGenerator.mostValues) values in a response; the rest was not tried.")
    }
    if isLarge {
      report.unexplored.append(
        "The responses are large: in most of them, many values were tried together, and what is read and not selected was "
          + "not looked for.")
    }
    for path in guessed.sorted() {
      report.unexplored.append("\(path): nothing is known of the scalar's values; pass samples of them.")
    }
    for (path, type) in byteReaders.sorted(by: { $0.key < $1.key }) {
      // What is said of a type concerns those in it, too.
      let isInside = byteReaders.keys.contains { path.hasPrefix($0 + ".") || path.hasPrefix($0 + "[") }
      if isInside { continue }
      report.unexplored.append(
        "\(path): \(type) reads bytes; what it reads although the document does not select it was not seen.")
    }
    let warnings = unread(&report) + deprecated
    report.findings += findings.map(\.finding) + warnings
  }

  private var isLarge: Bool { recorded > Self.mostRecorded }

  /// Whether nothing more is to be looked for.
  private var isExhausted: Bool { findings.count > Self.mostErrors || work > Self.mostWork }

  private mutating func check(_ pass: Exploration.Pass) {
    exploration.begin(pass)
    let response = generator.response(at: root)
    work += generator.values * Self.costOfMaking
    isCut = isCut || generator.isCut
    let isNew = remember(response, pass)
    if isLarge, !isNew, failure(of: Self.text(of: response)) == nil { return }
    recorded += generator.values
    for problem in problems(in: response) { add(problem, pass, Self.text(of: response).text) }
  }

  /// Checks responses that each differ in one value from the same one: many values in one response and, if that cannot be
  /// read, half of them, down to the values that cannot be read. Returns whether all were tried.
  private mutating func checkTogether(_ passes: [Exploration.Pass]) -> Bool {
    var pending = Self.compatible(passes).reversed().map { $0[...] }
    while !isExhausted, let some = pending.popLast() {
      guard let first = some.first, let base = first.difference?.base else { continue }
      let text = text(base).replacing(some.compactMap { $0.difference.map { ($0.place, $0.value) } })
      if let text, failure(of: text) == nil { continue }
      if some.count == 1 {
        check(first)
      } else {
        let middle = some.startIndex + some.count / 2
        pending += [some[middle...], some[..<middle]]
      }
    }
    return pending.isEmpty
  }

  /// The passes in groups in which no value is in the place of another, or inside of one.
  private static func compatible(_ passes: [Exploration.Pass]) -> [[Exploration.Pass]] {
    var groups: [[Exploration.Pass]] = []
    // For each place, the first group that has nothing of it. A place comes before those inside of it.
    var free: [ObjectIdentifier: Int] = [:]
    for pass in passes {
      guard let place = pass.difference?.place else { continue }
      let group = place.andAncestors.reduce(0) { max($0, free[ObjectIdentifier($1)] ?? 0) }
      free[ObjectIdentifier(place)] = group + 1
      if group == groups.count { groups.append([]) }
      groups[group].append(pass)
    }
    return groups
  }

  private mutating func text(_ base: Int) -> ResponseText {
    if let lastText, lastText.base == base { return lastText.text }
    exploration.begin(exploration.pass(base))
    let text = Self.text(of: generator.response(at: root))
    lastText = (base, text)
    return text
  }

  private static func text(of response: ResponseNode) -> ResponseText {
    ResponseText(response, in: #"{"data": "#, "}")
  }

  /// Why the real decoder cannot read a response.
  private mutating func failure(of response: ResponseText) -> DecodingFailure? {
    do throws(DecodingFailure) {
      _ = try read(response)
      return nil
    } catch {
      return error
    }
  }

  /// What the real decoder reads of a response.
  private mutating func read(_ response: ResponseText) throws(DecodingFailure) -> ResponseData {
    work += response.values
    let headers: HTTPHeaders = ["Content-Type": "application/graphql-response+json"]
    let response = HTTPResponse(status: 200, headers: headers, body: Data(response.bytes))
    do throws(RequestError) {
      return try parser.parse(response, by: decoder).data
    } catch {
      throw error.cause as? DecodingFailure ?? DecodingFailure(path: "data", reason: error.message)
    }
  }

  private mutating func add(_ problem: Recording.Problem, _ pass: Exploration.Pass, _ body: String) {
    let subjects = [problem.subject].compactMap { $0 }
    guard let index = known[problem.key] else {
      known[problem.key] = findings.count
      findings.append(
        Found(
          problem: problem, subjects: subjects, isFuture: pass.isFuture, condition: pass.conditions, witness: body))
      return
    }
    if findings[index].isFuture, !pass.isFuture {
      findings[index] = Found(
        problem: problem, subjects: subjects, isFuture: false, condition: pass.conditions, witness: body)
      return
    }
    // What fails today need not be said of the future.
    if pass.isFuture, !findings[index].isFuture { return }
    if let subject = problem.subject, !findings[index].subjects.contains(subject) {
      findings[index].subjects.append(subject)
    }
    // What any response shows is clearest in the usual one.
    guard findings[index].condition != nil, body.utf8.count < findings[index].witness.utf8.count else { return }
    findings[index].witness = body
    findings[index].condition = pass.conditions
  }
}

// MARK: - What is wrong

extension ResponseCheck {
  private mutating func record(_ response: ResponseNode, throwing: Recording.Throwing = .nowhere) -> Recording {
    work += generator.values * Self.costOfMaking
    let recording = Recording(decoder: decoder, userInfo: userInfo, throwing: throwing)
    recording.read(ResponseData.self, from: response)
    return recording
  }

  /// What is wrong when a response is read.
  private mutating func problems(in response: ResponseNode) -> [Recording.Problem] {
    let recording = record(response)
    if recording.outcome == .stopped { isIncomplete = true }
    guessed.formUnion(recording.guessed)
    byteReaders.merge(recording.byteReaders) { $1 }
    let failure: DecodingFailure
    do throws(DecodingFailure) {
      let data = try read(Self.text(of: response))
      // Where the type catches an error, it goes on to read something else.
      if recording.problems.contains(where: \.isFailure) { _ = record(response, throwing: .everywhere) }
      return recording.problems.filter { !$0.isFailure } + readBack.problems(in: data)
    } catch {
      failure = error
    }
    // What the rules of documents refuse leaves nothing to be proved.
    if hasUnknownFields { return recording.problems }
    let problems = proven(recording.problems, response)
    if problems.contains(where: \.isFailure) { return problems }
    return problems + [.init(failure.path, "unreadable", "cannot be read: \(failure.reason)")]
  }

  /// The problems that make reading fail: not those of which the type catches the error, to read something else.
  private mutating func proven(_ first: [Recording.Problem], _ response: ResponseNode) -> [Recording.Problem] {
    var proven: [Recording.Problem] = []
    var tried: Set<Recording.Problem.Key> = []
    var caught: Set<Recording.Problem.Key> = []
    var problems = first
    while let next = problems.first(where: { $0.isFailure && !tried.contains($0.key) }), tried.count < 50 {
      tried.insert(next.key)
      if case .value = record(response, throwing: .at(caught.union([next.key]))).outcome {
        caught.insert(next.key)
        problems = record(response, throwing: .at(caught)).problems
      } else {
        proven.append(next)
      }
    }
    return proven + problems.filter { !$0.isFailure }
  }
}

// MARK: - What is selected

extension ResponseCheck {
  /// Returns whether there are places in a response that none before had.
  private mutating func remember(_ node: ResponseNode, _ pass: Exploration.Pass) -> Bool {
    let count = places.count
    var pending = [node]
    while let node = pending.popLast() {
      if node.place !== root, !node.place.isKnown {
        node.place.isKnown = true
        places.append((node.place, pass))
      }
      switch node.content {
      case .object(let object): pending += object.members.reversed()
      case .list(let items): pending += items.reversed()
      case .null, .leaf: break
      }
    }
    return places.count > count
  }

  /// Fields that are selected and that nothing reads.
  ///
  /// A decoder that reads bytes may read what the recording does not see it read. So the field's value is replaced by one
  /// of another kind: if that is accepted, nothing reads it.
  private mutating func unread(_ report: inout SessionCheck.Report) -> [SessionCheck.Finding] {
    let read = Set(places.filter(\.place.isRead).map(\.place.path))
    // Below what is read as something else, nothing can be read; nor where a type is not told by its name.
    let typename = ".__typename"
    let errors = findings.map(\.finding).filter { $0.severity == .error }.map(\.path)
    var reported = Set(errors.map { $0.hasSuffix(typename) ? String($0.dropLast(typename.count)) : $0 })
    var unread: [SessionCheck.Finding] = []
    for (place, pass) in places
    where place.key != nil && place.field?.name != "__typename" && !read.contains(place.path) {
      guard unread.count < Self.mostErrors, work <= Self.mostWork,
        !place.andAncestors.contains(where: { reported.contains($0.path) }), isRead(place, in: pass, &report) == false
      else { continue }
      reported.insert(place.path)
      unread.append(.init(severity: .warning, path: place.path, message: "is selected but never read"))
    }
    if work > Self.mostWork {
      report.unexplored.append(
        "The responses are too many for their size; whether all that is selected is read was not looked for.")
    }
    return unread
  }

  /// Whether a place is read in a response; `nil` if that cannot be told.
  private mutating func isRead(
    _ place: Place, in pass: Exploration.Pass, _ report: inout SessionCheck.Report
  ) -> Bool? {
    if lastWhole?.number != pass.number {
      exploration.begin(pass)
      let text = Self.text(of: generator.response(at: root))
      report.responses += 1
      lastWhole = (pass.number, text, failure(of: text) == nil)
    }
    guard let lastWhole else { return nil }
    guard lastWhole.isAccepted else { return isIncomplete ? nil : false }
    let poison = place.isComposite ? "0" : #"{"":0}"#
    return lastWhole.text.replacing([(place, poison)]).map { failure(of: $0) != nil }
  }

  private var deprecated: [SessionCheck.Finding] {
    var reported: Set<String> = []
    return places.compactMap { place, _ in
      // That a type has deprecated a field of its interface concerns those who select it on the type.
      guard let field = place.selected, field.isDeprecated, reported.insert(place.path).inserted else { return nil }
      let reason = field.deprecationReason.map { ": \($0)" } ?? ""
      return SessionCheck.Finding(
        severity: .warning, path: place.path, message: "\(field.coordinate) is deprecated\(reason)")
    }
  }
}

extension Place {
  fileprivate var andAncestors: some Sequence<Place> { sequence(first: self, next: \.parent) }

  /// Whether its values are objects.
  fileprivate var isComposite: Bool { type.map { !$0.isList && $0.named.kind.isComposite } ?? true }
}
