import Testing

@testable import HTTP

@Suite struct DepartureTests {
  @Test func `what has not left can be kept from leaving`() {
    let departure = Departure()
    departure.noteWaiting()
    let (isCancelled, mayDepart) = (departure.cancel(), departure.depart())
    #expect(isCancelled && !mayDepart)
  }

  @Test func `what has left cannot be kept, also when it leaves once more`() {
    let departure = Departure()
    for _ in 0..<2 {
      departure.noteWaiting()
      let (mayDepart, isCancelled) = (departure.depart(), departure.cancel())
      #expect(mayDepart && !isCancelled)
    }
  }

  @Test func `nothing is certain where nobody has taken note`() {
    let departure = Departure()
    let isCancelled = departure.cancel()
    #expect(!isCancelled)
  }
}
