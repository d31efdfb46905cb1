/// What Redis does in one step. `KEYS[1]` is a value: a hash of its data `d`, when it was written `w`, whether it was
/// invalidated `i`, and the number of the write `n`. `KEYS[2]` is the lease of whoever asks the origin for it, whose value
/// is the fencing token: every change by others deletes it, so that a response from before is refused.
struct Script {
  let text: String

  /// Writes data, time and mark for so many milliseconds, unless a token is given that is no longer the lease's: 0.
  static let write = Script(
    text: """
      if ARGV[5] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[5] then return 0 end
      local n = redis.call('INCR', KEYS[3])
      redis.call('HSET', KEYS[1], 'd', ARGV[1], 'w', ARGV[2], 'i', ARGV[3], 'n', n)
      redis.call('PEXPIRE', KEYS[1], ARGV[4])
      redis.call('DEL', KEYS[2])
      return n
      """)

  static let invalidate = Script(
    text: """
      redis.call('DEL', KEYS[2])
      if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
      redis.call('HSET', KEYS[1], 'i', '1', 'n', redis.call('INCR', KEYS[3]))
      return 1
      """)

  /// Takes the lease with a token for so many milliseconds; or returns the value, if its number is another than the one
  /// that is known; or only that number, if the lease is another's.
  static let acquire = Script(
    text: """
      local v = redis.call('HMGET', KEYS[1], 'd', 'w', 'i', 'n')
      local n = v[4] or '0'
      if ARGV[3] ~= '' and v[4] and n ~= ARGV[3] and v[3] ~= '1' then return {'value', n, v[1]} end
      if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'lease', n} end
      return {'wait', n}
      """)

  static let renew = Script(
    text: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0")

  static let release = Script(
    text: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
}
