extension RandomAccessCollection where Index == Int {
  /// The first index whose element meets a condition that all later elements meet, too, by binary search; `endIndex` if
  /// none does.
  package func partitioningIndex(where isAfter: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
