import GraphQLSchema
import HTTP
import JSON
import Networking
import Platform

/// Holds the type of a session's data to the responses that a correct server may send.
///
/// Each response is read twice: by a recording decoder, which explains, and by the real decoder, which decides. What
/// only the recording finds fault with is no finding.
struct ResponseCheck<ResponseData: Decodable & Sendable> {
  private let generator: ResponseGenerator
  private let decoder: any BodyDecoder
  private let parser: ResponseParser<GraphQLResponse<ResponseData>>
  private let exploration = Exploration()
  private let root = Place(path: "data")
  private let hasUnknownFields: Bool

  private var findings: [SessionCheck.Finding] = []
  /// Where a finding is among them, by its path and message.
  private var known: [[String]: Int] = [:]
  /// Those that only responses from the future have shown so far.
  private var future: Set<Int> = []
  private var guessed: Set<String> = []
  /// The places in the order in which they were first filled, each with the response that did it.
  private var places: [(place: Place, pass: Exploration.Pass)] = []
  private var seen: Set<ObjectIdentifier> = []
  /// Whether a recording ended early, so that not everything that is read was seen.
  private var isIncomplete = false

  init(
    plan: OperationPlan, samples: ScalarSamples, decoder: any BodyDecoder,
    parser: ResponseParser<GraphQLResponse<ResponseData>>
  ) {
    self.parser = parser
    generator = ResponseGenerator(plan: plan, samples: samples, chooser: exploration)
    self.decoder = decoder
    hasUnknownFields = plan.selections.hasUnknownFields
  }

  mutating func check(_ report: inout SessionCheck.Report, combinations: Int) {
    while report.responses < SessionCheck.responseLimit, let pass = exploration.nextPass() {
      report.responses += 1
      check(pass)
    }
    if exploration.nextPass() != nil {
      report.unexplored.append(
        "There are more than \(SessionCheck.responseLimit) alternatives; the rest was not tried.")
    }
    for seed in 0..<max(0, combinations) { checkCombination(UInt64(seed), &report) }
    for path in guessed.sorted() {
      report.unexplored.append("\(path): nothing is known of the scalar's values; pass samples of them.")
    }
    checkUnread(&report)
    checkDeprecated()
    report.findings += findings
  }

  private mutating func check(_ pass: Exploration.Pass) {
    let response = generator.response(at: root)
    remember(response, pass)
    for complaint in complaints(about: response) { add(complaint, pass, Self.body(of: response)) }
  }

  /// Looks for what fails only if several things are unusual, and for as few of them as it takes.
  private mutating func checkCombination(_ seed: UInt64, _ report: inout SessionCheck.Report) {
    exploration.beginRandom(seed: seed)
    let response = generator.response(at: root)
    report.responses += 1
    for complaint in complaints(about: response) where known[complaint.key] == nil {
      var pass = exploration.pass
      while let simpler = pass.simpler.first(where: { fails(complaint, in: $0, &report) }) { pass = simpler }
      exploration.begin(pass)
      add(complaint, pass, Self.body(of: generator.response(at: root)))
    }
  }

  private mutating func fails(
    _ complaint: Recording.Complaint, in pass: Exploration.Pass, _ report: inout SessionCheck.Report
  ) -> Bool {
    exploration.begin(pass)
    report.responses += 1
    let response = generator.response(at: root)
    return complaints(about: response).contains { $0.key == complaint.key }
  }

  /// What is wrong when a response is read.
  private mutating func complaints(about response: ResponseNode) -> [Recording.Complaint] {
    let recording = Recording(decoder: decoder)
    if recording.read(ResponseData.self, from: response) == nil { isIncomplete = true }
    guessed.formUnion(recording.guessed)
    guard let failure = failure(of: Self.body(of: response)) else {
      return recording.complaints.filter { !$0.isFailure }
    }
    // What the rules of documents refuse leaves nothing to be proved.
    if hasUnknownFields || recording.complaints.contains(where: \.isFailure) { return recording.complaints }
    return recording.complaints + [.init(path: failure.path, message: "cannot be read: \(failure.reason)")]
  }

  private static func body(of response: ResponseNode, poisoned: Place? = nil) -> String {
    #"{"data": "# + response.json(poisoned: poisoned) + "}"
  }

  /// Why the real decoder cannot read a response.
  private func failure(of body: String) -> DecodingFailure? {
    let headers: HTTPHeaders = ["Content-Type": "application/graphql-response+json"]
    let response = HTTPResponse(status: 200, headers: headers, body: Data(body.utf8))
    do throws(RequestError) {
      _ = try parser.parse(response, by: decoder)
      return nil
    } catch {
      return error.cause as? DecodingFailure ?? DecodingFailure(path: "data", reason: error.message)
    }
  }

  private mutating func add(_ complaint: Recording.Complaint, _ pass: Exploration.Pass, _ body: String) {
    if let index = known[complaint.key] {
      let isFirstOfToday = !pass.isFuture && future.remove(index) != nil
      if isFirstOfToday { findings[index].severity = complaint.severity }
      let isShorter = body.utf8.count < findings[index].witness?.utf8.count ?? 0
      guard isFirstOfToday || (isShorter && pass.isFuture == future.contains(index)) else { return }
      findings[index].witness = body
      if findings[index].condition != nil { findings[index].condition = pass.conditions }
      return
    }
    known[complaint.key] = findings.count
    if pass.isFuture { future.insert(findings.count) }
    findings.append(
      .init(
        severity: pass.isFuture ? .warning : complaint.severity, path: complaint.path, message: complaint.message,
        condition: pass.conditions, witness: body))
  }
}

// MARK: - What is selected

extension ResponseCheck {
  private mutating func remember(_ node: ResponseNode, _ pass: Exploration.Pass) {
    if node.place !== root, seen.insert(ObjectIdentifier(node.place)).inserted { places.append((node.place, pass)) }
    switch node.content {
    case .object(let object): for member in object.members { remember(member, pass) }
    case .list(let items): for item in items { remember(item, pass) }
    case .null, .leaf: break
    }
  }

  /// Fields that are selected and that nothing reads.
  ///
  /// A decoder that reads bytes may read what the recording does not see it read. So the field's value is replaced by one
  /// of another kind: if that is accepted, nothing reads it.
  private mutating func checkUnread(_ report: inout SessionCheck.Report) {
    let read = Set(places.filter(\.place.isRead).map(\.place.path))
    // Below what is read as something else, nothing can be read; nor where a type is not told by its name.
    let typename = ".__typename"
    let errors = findings.filter { $0.severity == .error }.map(\.path)
    var reported = Set(errors.map { $0.hasSuffix(typename) ? String($0.dropLast(typename.count)) : $0 })
    for (place, pass) in places
    where place.key != nil && place.field?.name != "__typename" && !read.contains(place.path) {
      guard !place.andAncestors.contains(where: { reported.contains($0.path) }),
        isRead(place, in: pass, &report) == false
      else { continue }
      reported.insert(place.path)
      findings.append(.init(severity: .warning, path: place.path, message: "is selected but never read"))
    }
  }

  /// Whether a place is read in a response; `nil` if that cannot be told.
  private func isRead(_ place: Place, in pass: Exploration.Pass, _ report: inout SessionCheck.Report) -> Bool? {
    exploration.begin(pass)
    let response = generator.response(at: root)
    report.responses += 1
    guard failure(of: Self.body(of: response)) == nil else { return isIncomplete ? nil : false }
    return failure(of: Self.body(of: response, poisoned: place)) != nil
  }

  private mutating func checkDeprecated() {
    var reported: Set<String> = []
    for (place, _) in places {
      guard let field = place.field, field.isDeprecated, reported.insert(place.path).inserted else { continue }
      let reason = field.deprecationReason.map { ": \($0)" } ?? ""
      findings.append(
        .init(severity: .warning, path: place.path, message: "\(field.coordinate) is deprecated\(reason)"))
    }
  }
}

extension Place {
  fileprivate var andAncestors: some Sequence<Place> { sequence(first: self, next: \.parent) }
}

extension SelectionPlan {
  fileprivate var hasUnknownFields: Bool {
    if !unknownKeys.isEmpty { return true }
    return items.contains { item in
      switch item {
      case .field(let field): field.selections?.hasUnknownFields ?? false
      case .fragment(let fragment): fragment.selections.hasUnknownFields
      }
    }
  }
}
