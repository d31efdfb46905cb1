import Foundation
import Models
import StrictJSON

/// One line of the table: the same text, read or written by this SDK and by Foundation.
struct Row {
  let name: String
  let payload: Payload
  /// Does the work once, and returns a checksum.
  let ours: () throws -> Int
  let theirs: () throws -> Int
  /// What the peers are asked to do; nil if they cannot do it.
  let peerWork: String?
  let floor: Double
  let aim: Double?

  static func rows(of payload: Payload) throws -> [Row] {
    let data = payload.data
    let (coder, decoder, encoder) = (JSONCoder(), JSONDecoder(), JSONEncoder())
    let details = try MomentsDetails(json: data.bytes)
    let plain = try decoder.decode(PlainTimeline.self, from: data)
    let isLarge = data.count > 1 << 20
    return [
      Row(
        name: "decode, typed", payload: payload,
        ours: { try MomentsDetails(json: data.bytes).moments.count },
        theirs: { try decoder.decode(MomentsDetails.self, from: data).moments.count }, peerWork: "decode",
        floor: isLarge ? 6 : 8, aim: 12),
      Row(
        name: "decode, generic", payload: payload,
        ours: { try coder.decode(PlainTimeline.self, from: data).moments.count },
        theirs: { try decoder.decode(PlainTimeline.self, from: data).moments.count }, peerWork: nil, floor: 3,
        aim: 4),
      Row(
        name: "encode, typed", payload: payload, ours: { try details.json().count > 0 ? 1 : 0 },
        theirs: { try encoder.encode(details).count > 0 ? 1 : 0 }, peerWork: "encode", floor: 15, aim: 25),
      Row(
        name: "encode, generic", payload: payload, ours: { try coder.encode(plain).count > 0 ? 1 : 0 },
        theirs: { try encoder.encode(plain).count > 0 ? 1 : 0 }, peerWork: nil, floor: 3, aim: nil),
    ]
  }

  static func rows<Value: JSONDecodable & JSONEncodable, Plain: Codable>(
    of payload: Payload, _: [Value].Type, _: [Plain].Type
  ) throws -> [Row] {
    let data = payload.data
    let (coder, decoder, encoder) = (JSONCoder(), JSONDecoder(), JSONEncoder())
    let values = try [Value](json: data.bytes)
    let plain = try decoder.decode([Plain].self, from: data)
    return [
      Row(
        name: "decode, typed", payload: payload, ours: { try [Value](json: data.bytes).count },
        theirs: { try decoder.decode([Plain].self, from: data).count }, peerWork: nil, floor: 8, aim: 12),
      Row(
        name: "decode, generic", payload: payload, ours: { try coder.decode([Plain].self, from: data).count },
        theirs: { try decoder.decode([Plain].self, from: data).count }, peerWork: nil, floor: 3, aim: 4),
      Row(
        name: "encode, typed", payload: payload, ours: { try values.json().count > 0 ? 1 : 0 },
        theirs: { try encoder.encode(plain).count > 0 ? 1 : 0 }, peerWork: nil, floor: 15, aim: 25),
      Row(
        name: "encode, generic", payload: payload, ours: { try coder.encode(plain).count > 0 ? 1 : 0 },
        theirs: { try encoder.encode(plain).count > 0 ? 1 : 0 }, peerWork: nil, floor: 3, aim: nil),
    ]
  }
}
