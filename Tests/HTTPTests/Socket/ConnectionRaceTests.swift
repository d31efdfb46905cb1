import Foundation
import Testing

@testable import HTTP

@Suite struct ConnectionRaceTests {
  private func address(_ text: String) throws -> SocketAddress {
    try #require(SocketAddress(numericHost: text, port: 80))
  }

  @Test func `the families take turns, the preferred one first`() throws {
    let (six, four) = (["2001:db8::1", "2001:db8::2", "2001:db8::3"], ["192.0.2.1"])
    for (preferred, other) in [(six, four), (four, six)] {
      var race = ConnectionRace(try (preferred + other).map(address))
      var order: [String] = []
      while let next = race.next() { order.append("\(next)") }
      let expected = preferred == six ? [six[0], four[0], six[1], six[2]] : [four[0], six[0], six[1], six[2]]
      #expect(order == expected)
    }
  }

  @Test func `a race is lost when all have failed, and not before`() throws {
    let addresses = try [address("192.0.2.1"), address("192.0.2.2")]
    var race = ConnectionRace(addresses)
    for address in addresses {
      #expect(race.next() == address)
      #expect(!race.isLost)
      race.fail(address, SystemError(code: ECONNREFUSED))
    }
    #expect(race.isLost)
    #expect(race.failures == ["192.0.2.1: Connection refused", "192.0.2.2: Connection refused"])
  }

  @Test(arguments: [
    ([EADDRNOTAVAIL, ECONNREFUSED], false), ([ECONNREFUSED, EADDRNOTAVAIL], false), ([EMFILE, EMFILE], true),
  ])
  func `this machine is short of something only if no address failed for another reason`(
    codes: [Int32], isShortage: Bool
  ) throws {
    var race = try ConnectionRace([address("192.0.2.1"), address("::1")])
    for code in codes {
      let next = race.next()
      race.fail(try #require(next), SystemError(code: code))
    }
    #expect(race.isLost && race.error?.isShortage == isShortage)
  }

  @Test func `a race without addresses is lost from the start`() {
    var race = ConnectionRace([])
    #expect(race.isLost)
    #expect(race.next() == nil)
  }
}
