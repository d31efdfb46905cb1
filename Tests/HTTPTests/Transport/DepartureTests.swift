import Testing

@testable import HTTP

@Suite struct DepartureTests {
  @Test func `what has not left can be kept from leaving, and what has left cannot`() {
    let (unsent, sent) = (Departure(), Departure())
    for departure in [unsent, sent] { departure.noteWaiting() }
    #expect(unsent.cancel() && !unsent.depart())
    #expect(sent.depart() && !sent.cancel())
    // For another attempt.
    sent.noteWaiting()
    #expect(sent.depart() && !sent.cancel())
  }

  @Test func `nothing is certain where nobody has taken note`() {
    #expect(!Departure().cancel())
  }
}
