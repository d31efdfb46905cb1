/// Reads any bytes as a record, as the beginning of a record, and as the name of its file, or of one of an outbox.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var bytes = Array(UnsafeBufferPointer(start: start, count: count))
  check(bytes)
  check(name: String(decoding: bytes, as: UTF8.self))
  guard count >= Record.headerLength else { return 0 }
  // Otherwise nothing would get past the checksum.
  bytes.replaceSubrange(32..<40, with: withUnsafeBytes(of: checksum(bytes).littleEndian) { Array($0) })
  check(bytes)
  return 0
}

private func check(_ bytes: [UInt8]) {
  let key = try? Record.key(atStartOf: Array(bytes.prefix(512)))
  guard let record = try? Record(bytes) else { return }
  // A version is 16 bytes behind the value.
  let rest = bytes.count - record.key.count - record.value.count - Record.headerLength
  precondition(rest == 16 || rest == 0 && record.version == .zero, "There are other bytes.")
  precondition(key.map { $0 == record.key } ?? (record.key.count > 512 - Record.headerLength), "Another key.")
  guard let again = try? Record(record.bytes) else { preconditionFailure("What is written is not read.") }
  precondition(again.key == record.key && again.value == record.value, "What is written is read as something else.")
  precondition(again.version == record.version, "Another version.")
  precondition(again.writtenAt == record.writtenAt && again.isInvalidated == record.isInvalidated, "Another time.")
  check(name: "\(RecordName(hashing: record.key))")
}

private func check(name: String) {
  for entry in [OutboxFileName(name), OutboxFileName(discarded: name)].compactMap({ $0 }) {
    precondition(OutboxFileName(addedAt: entry.addedAt, id: entry.id) == entry, "A name that is not its own.")
    precondition(OutboxFileName(discarded: entry.discarded) == entry, "A discarded entry is another one.")
  }
  guard let record = RecordName(name) else { return }
  precondition("\(record)" == name && !RecordName.isOtherVersion(name), "A name that is not its own.")
}

private func checksum(_ bytes: [UInt8]) -> UInt64 {
  bytes.withUnsafeBytes { bytes in
    var checksum = Checksum()
    checksum.add(UnsafeRawBufferPointer(rebasing: bytes[..<32]))
    checksum.add(UnsafeRawBufferPointer(rebasing: bytes[Record.headerLength...]))
    return checksum.value
  }
}
