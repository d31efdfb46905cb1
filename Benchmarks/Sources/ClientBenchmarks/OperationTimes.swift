/// The microseconds that an operation took for each of its parts.
struct OperationTimes: Codable, Sendable {
  /// The transport's own part, without what becomes of the answer.
  var transport = 0.0
  /// Reading the answer: data and envelope.
  var decoding = 0.0
  /// Reading an envelope without data, once more: not a part of the whole.
  var envelope = 0.0
  /// What the decoding made is freed by whoever subscribed.
  var freeing = 0.0
  /// What is left.
  var own = 0.0

  var whole: Double { transport + decoding + freeing + own }
  /// Reading the data alone.
  var data: Double { decoding - envelope }
  /// What is the SDK's own, with the envelope, which it reads for the session.
  var sdk: Double { own + envelope }
}

extension [OperationTimes] {
  /// The mean of the middle half, by the whole. Like a median it leaves out what was interrupted; unlike medians, the parts
  /// still add up.
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
