import StoresTestSupport
import TestSupport
import Testing

@testable import Stores

/// The members of a group beside a plain model of them.
@Suite struct MemberTableTests {
  private final class Member: Sendable {
    let name: Int
    init(_ name: Int) { self.name = name }
  }

  /// What an account has.
  private struct Account {
    var isPending = false
    /// How many end its member.
    var endings = 0
    var isOver = false
    weak var member: Member?
  }

  @Test func `random events leave each account one member at most, and none that has ended`() throws {
    let seed = UInt64.random(in: 0...(.max))
    var random = SplitMix(seed: seed)
    var table = MemberTable<Int, Member>(maximumCount: 3)
    var model = Array(repeating: Account(), count: 8)
    var pending: [Int: PendingMember<Member>] = [:]
    /// Those that somebody uses, and those that are busy.
    var (held, busy) = ([Member](), Set<ObjectIdentifier>())
    func review(_ reviews: [MemberTable<Int, Member>.Review]) {
      for review in reviews { table.conclude(review, isBusy: busy.contains(ObjectIdentifier(review.member))) }
      _ = table.takeGarbage()
    }
    for step in 0..<TestScale.count(20_000, long: 500_000) {
      let name = Int.random(in: 0..<8, using: &random)
      let place: Comment = "step \(step) of seed \(seed)"
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<4:
        let (opening, reviews) = table.open(name)
        switch opening {
        case .found(let member, let isEnding):
          #expect(member.name == name, place)
          #expect(member === model[name].member, place)
          #expect(isEnding == (model[name].endings > 0), place)
          if Bool.random(using: &random) { held.append(member) }
        case .wait(let known): #expect(known === pending[name], place)
        case .make(let made):
          #expect(!model[name].isPending, place)
          #expect(model[name].member == nil, place)
          pending[name] = made
          model[name].isPending = true
        }
        review(reviews)
      case 4 where pending[name] != nil:
        pending[name] = nil
        model[name].isPending = false
        let member = Int.random(in: 0..<4, using: &random) == 0 ? nil : Member(name)
        model[name].member = member
        let reviews = table.made(name, member)
        if let member, Bool.random(using: &random) { held.append(member) }
        review(reviews)
      case 5:
        let member = table.end(name)
        #expect(member === model[name].member, place)
        if member != nil { model[name].endings += 1 }
      case 6 where model[name].endings > 0:
        let isOver = Bool.random(using: &random)
        review(table.ended(name, isOver: isOver))
        model[name].endings -= 1
        model[name].isOver = model[name].isOver || isOver
        if model[name].endings > 0 { break }
        if model[name].isOver { model[name].member = nil }
        model[name].isOver = false
      case 7: held = held.filter { _ in Bool.random(using: &random) }
      case 8:
        guard let member = held.randomElement(using: &random) else { break }
        busy.insert(ObjectIdentifier(member))
        table.keep(member.name, member)
      case 9: busy = []
      case 10:
        review(table.sweep())
        table.prune()
      default:
        guard model[name].endings == 0, let member = model[name].member, Int.random(in: 0..<4, using: &random) == 0
        else { break }
        table.forget(name, member)
        model[name].member = nil
      }
      _ = table.takeGarbage()
      let members = table.members
      #expect(Set(members.map(\.name)).count == members.count, place)
      for (name, member) in members { #expect(model[name].member === member, place) }
      for member in held where model[member.name].member === member {
        #expect(members.contains { $0.member === member }, "one that is held is found: \(place)")
      }
    }
  }

  @Test func `a member that says that it is busy during a review is kept`() throws {
    var table = MemberTable<Int, Member>(maximumCount: 1)
    _ = table.open(0)
    weak var first: Member?
    do {
      let member = Member(0)
      first = member
      _ = table.made(0, member)
      _ = table.open(1)
      let reviews = table.made(1, Member(1))
      // It was not, when it was asked.
      table.keep(0, member)
      for review in reviews { table.conclude(review, isBusy: false) }
    }
    _ = table.takeGarbage()
    #expect(first != nil)
    for review in table.sweep() { table.conclude(review, isBusy: false) }
    _ = table.takeGarbage()
    #expect(first == nil)
  }
}
