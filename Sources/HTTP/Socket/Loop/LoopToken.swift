/// Identifies a registration; a later registration with the same index has another generation.
struct LoopToken {
  let index: Int
  let generation: UInt32

  init(index: Int, generation: UInt32) {
    self.index = index
    self.generation = generation
  }

  init(rawValue: UInt64) {
    self.init(index: Int(rawValue & 0xFFFF_FFFF), generation: UInt32(rawValue >> 32))
  }

  var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(index) }
}
