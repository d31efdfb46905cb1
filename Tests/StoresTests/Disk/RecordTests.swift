import StoresTestSupport
import Testing

@testable import Stores

@Suite("the format of records")
struct RecordTests {
  let record = Record(
    key: Array("key".utf8), value: Array("a value of some bytes".utf8), writtenAt: StoreTime(microseconds: 1_234_567),
    isInvalidated: true)

  @Test func `version 1 is these bytes`() {
    let header: [UInt8] = [
      0x53, 0x54, 0x52, 0x43, 1, 0, 0xFE, 0xFF, 1, 0, 0, 0, 3, 0, 0, 0, 21, 0, 0, 0, 0, 0, 0, 0, 0x87, 0xD6, 0x12, 0, 0,
      0, 0, 0,
    ]
    #expect(Array(record.bytes.prefix(32)) == header)
    // By another program, from the description of the format.
    let checksum: UInt64 = 0x2BE34C333E1FE730
    #expect(Array(record.bytes[32..<40]) == withUnsafeBytes(of: checksum.littleEndian) { Array($0) })
    #expect(Array(record.bytes.dropFirst(40)) == Array("keya value of some bytes".utf8))
  }

  @Test func `a record reads as it was written`() throws {
    let read = try Record(record.bytes)
    #expect(read.key == record.key)
    #expect(read.value == record.value)
    #expect(read.writtenAt == record.writtenAt)
    #expect(read.isInvalidated)
  }

  @Test func `a version follows the value, and a record without one has none`() throws {
    var versioned = record
    versioned.version = EntryVersion(time: 1_234_567_890, writer: .max - 1)
    let read = try Record(versioned.bytes)
    #expect(read.version == versioned.version)
    #expect(read.value == record.value)
    #expect(read.key == record.key)
    #expect(versioned.bytes.count == record.bytes.count + 16)
    #expect(try Record(record.bytes).version == .zero)
  }

  @Test(arguments: [EntryVersion.zero, EntryVersion(time: 5, writer: 6)])
  func `D4: every single-bit flip is noticed`(version: EntryVersion) {
    var record = record
    record.version = version
    let bytes = record.bytes
    for bit in 0..<bytes.count * 8 {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: Record.Failure.damaged, "bit \(bit)") { try Record(flipped) }
    }
  }

  @Test(arguments: [EntryVersion.zero, EntryVersion(time: 5, writer: 6)])
  func `D4: every cut and every byte too many is noticed`(version: EntryVersion) {
    var record = record
    record.version = version
    let bytes = record.bytes
    for count in 0..<bytes.count {
      #expect(throws: Record.Failure.damaged) { try Record(Array(bytes.prefix(count))) }
    }
    #expect(throws: Record.Failure.damaged) { try Record(bytes + [0]) }
  }

  @Test func `another version is distinguished from a damaged record`() {
    var bytes = record.bytes
    (bytes[4], bytes[6]) = (2, 0xFD)
    #expect(throws: Record.Failure.otherVersion) { try Record(bytes) }
  }

  @Test func `names are 32 digits and the version`() throws {
    let name = RecordName(hashing: Array("../../etc/passwd".utf8))
    #expect("\(name)".count == 35)
    #expect("\(name)".hasSuffix(".r1"))
    #expect(!"\(name)".contains("/"))
    #expect(RecordName("\(name)") == name)
    for other in ["", ".r1", "x.r1", "\(name)x", "lock", "\(name)".uppercased()] { #expect(RecordName(other) == nil) }
    #expect(RecordName.isOtherVersion("\(name.hexadecimal).r2"))
    #expect(!RecordName.isOtherVersion("\(name)"))
    // FNV-1a of 128 bits, from its definition's test vectors.
    #expect(RecordName(hashing: []).hexadecimal == "6c62272e07bb014262b821756295c58d")
    #expect(RecordName(hashing: Array("a".utf8)).hexadecimal == "d228cb696f1a8caf78912b704e4a8964")
  }
}
