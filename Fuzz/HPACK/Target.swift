import Foundation

/// Blocks, each behind a byte with its length; the first byte chooses the size of the table. A list must keep to its
/// limits, and what is encoded anew must be decoded to the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  guard count > 0 else { return 0 }
  var rest = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  var decoder = HPACKDecoder(tableLimit: Int(start[0]) << 4, listLimit: 2000, fieldLimit: 50)
  var encoder = HPACKEncoder()
  var second = HPACKDecoder()
  while let length = rest.first {
    let block = UnsafeRawBufferPointer(rebasing: rest.dropFirst().prefix(Int(length)))
    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(1 + block.count))
    do throws(HTTP2ConnectionError) {
      let list = try decoder.decode(block)
      precondition(list.fields.reduce(0) { $0 + $1.size } <= 2000, "A list is too large.")
      precondition(list.fields.count <= 50, "A list has too many fields.")
      check(list, &encoder, &second, Int(start[0]))
    } catch {
      return 0
    }
  }
  return 0
}

private func check(
  _ list: ReceivedFields, _ encoder: inout HPACKEncoder, _ decoder: inout HPACKDecoder, _ number: Int
) {
  encoder.setTableLimit(number << 3)
  var block: [UInt8] = []
  encoder.begin(&block)
  for received in list.fields {
    let indexing: HPACKEncoder.Indexing = [.incremental, .without, .never][(number + block.count) % 3]
    Array(received.field.name.utf8).withUnsafeBytes { name in
      Array(received.field.value.utf8).withUnsafeBytes { value in
        encoder.encode(name, value, to: &block) { indexing }
      }
    }
  }
  do throws(HTTP2ConnectionError) {
    let again = try block.withBytes { bytes throws(HTTP2ConnectionError) in try decoder.decode(bytes) }
    precondition(again.isTooLarge || again.fields.map(\.texts) == list.fields.map(\.texts), "It is not the same.")
  } catch {
    preconditionFailure("What was encoded is not decoded: \(error)")
  }
}

extension ReceivedField {
  fileprivate var texts: [String] { [field.name, field.value] }
}

extension [UInt8] {
  fileprivate func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result = withUnsafeBytes { bytes -> Swift.Result<Result, Failure> in
      do throws(Failure) { return .success(try body(bytes)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
