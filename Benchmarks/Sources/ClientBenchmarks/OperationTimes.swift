/// How many microseconds each part of an operation took.
struct OperationTimes: Codable, Sendable {
  /// The transport's own part, without passing on the response.
  var transport = 0.0
  /// Reading the response: data and envelope.
  var decoding = 0.0
  /// Reading an envelope without data once more: not a part of the whole.
  var envelope = 0.0
  /// Freeing the decoded value, which the subscriber does.
  var freeing = 0.0
  /// The rest.
  var own = 0.0

  var whole: Double { transport + decoding + freeing + own }
  /// Reading the data alone.
  var data: Double { decoding - envelope }
  /// The SDK's own part, including the envelope, which it reads for the session.
  var sdk: Double { own + envelope }
}

extension [OperationTimes] {
  /// The mean of the middle half, ordered by the whole. Like a median it leaves out interrupted operations; unlike
  /// medians, the parts still add up.
  var middle: OperationTimes {
    let half = sorted { $0.whole < $1.whole }[(count / 4)..<(count - count / 4)]
    func mean(_ part: KeyPath<OperationTimes, Double>) -> Double {
      half.reduce(0) { $0 + $1[keyPath: part] } / Double(half.count)
    }
    return OperationTimes(
      transport: mean(\.transport), decoding: mean(\.decoding), envelope: mean(\.envelope), freeing: mean(\.freeing),
      own: mean(\.own))
  }
}
