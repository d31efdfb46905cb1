/// How many microseconds each part of an operation took.
struct OperationTimes: Codable, Sendable {
  /// The transport's own part, without passing on the response.
  var transport = 0.0
  /// Decoding the response's data once more, by itself: not a part of the whole.
  var data = 0.0
  /// Freeing the decoded value, which the subscriber does.
  var freeing = 0.0
  /// The rest, in which the data is decoded.
  var rest = 0.0

  var whole: Double { transport + freeing + rest }
  /// The SDK's own part, including the envelope, which it reads for the session.
  var sdk: Double { rest - data }
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
      transport: mean(\.transport), data: mean(\.data), freeing: mean(\.freeing), rest: mean(\.rest))
  }
}
