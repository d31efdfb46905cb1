import Foundation
import Streams
import SystemBase
import Testing

@testable import HTTPClientCore
@testable import SocketHTTP

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

  @Test func `addresses that were silent while another one connected come last, for five minutes`() throws {
    let addresses = try ["2001:db8::1", "192.0.2.1", "192.0.2.2"].map(address)
    var silent = SilentAddresses()
    silent.record(addresses[1], before: [addresses[0]], at: .now + .seconds(-299))
    var race = ConnectionRace(addresses, silent: silent)
    #expect([race.next(), race.next(), race.next()] == [addresses[1], addresses[2], addresses[0]])
    silent.record(addresses[1], before: [addresses[0]], at: .now + .seconds(-301))
    race = ConnectionRace(addresses, silent: silent)
    #expect(race.next() == addresses[0])
    silent.record(addresses[1], before: [addresses[0]], at: .now)
    silent.record(addresses[0], before: [], at: .now)
    race = ConnectionRace(addresses, silent: silent)
    #expect(race.next() == addresses[0])
  }

  @Test func `the latest of many silent addresses are remembered`() throws {
    let (winner, start) = (try address("192.0.2.1"), Instant.now)
    let addresses = try (0..<300).map { try address("10.0.\($0 / 100).\($0 % 100)") }
    var silent = SilentAddresses()
    for (number, address) in addresses.enumerated() {
      silent.record(winner, before: [address], at: start + .milliseconds(number))
    }
    let moved = silent.moveLast(of: addresses + [winner], at: start + .seconds(1))
    #expect(moved == Array(addresses[..<44]) + [winner] + Array(addresses[44...]))
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
  func `a shortage of this machine is reported only if no address failed for another reason`(
    codes: [Int32], isShortage: Bool
  ) throws {
    var race = try ConnectionRace([address("192.0.2.1"), address("::1")])
    for code in codes {
      let next = race.next()
      race.fail(try #require(next), SystemError(code: code))
    }
    #expect(race.isLost)
    #expect(race.error?.isShortage == isShortage)
  }

  @Test func `a race without addresses is lost from the start`() {
    var race = ConnectionRace([])
    #expect(race.isLost)
    #expect(race.next() == nil)
  }
}
