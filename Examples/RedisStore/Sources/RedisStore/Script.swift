/// What Redis does in one step. `KEYS[1]` is a value: a hash of its data `d`, when it was written `w`, whether it was
/// invalidated `i`, the number of the write `n`, and its version `v`; also, without a value, for some time, the versions
/// of its latest removal `r` and invalidation `m`. `KEYS[2]` is the lease of whoever asks the origin for it, whose value
/// is the fencing token: every change by others deletes it, so that a response from before is refused.
///
/// Versions are texts of digits, which compare like the numbers: those of Lua would lose some of them.
///
/// Redis lets a script that has begun to write end, even without memory. So a removal and an invalidation delete first, and
/// are never refused for want of memory; a write counts first, which is refused.
struct Script {
  let text: String

  /// The greater one of two versions, which may be missing.
  private static let later =
    "local function later(a, b) a, b = a or '', b or '' if a > b then return a end return b end\n"

  /// Writes data, time, mark and version for so many milliseconds: returns its number, or 0 and the version of what is
  /// newer. `KEYS[3]` counts the writes, `KEYS[4]` has the version of the last removal of everything. If a token is given,
  /// it has to be the lease's.
  static let write = Script(
    text: later + """
      local h = redis.call('HMGET', KEYS[1], 'v', 'r', 'm')
      local known = later(later(h[1], h[2]), redis.call('GET', KEYS[4]))
      if ARGV[5] ~= '' and redis.call('GET', KEYS[2]) ~= ARGV[5] then return {0, known} end
      if known > ARGV[6] then return {0, known} end
      local n = redis.call('INCR', KEYS[3])
      redis.call('DEL', KEYS[2])
      local i = ARGV[3]
      if later(h[3], ARGV[6]) ~= ARGV[6] then i = '1' end
      redis.call('HSET', KEYS[1], 'd', ARGV[1], 'w', ARGV[2], 'i', i, 'n', n, 'v', ARGV[6])
      redis.call('PEXPIRE', KEYS[1], ARGV[4])
      return {n, ''}
      """)

  /// What the last entry of a journal of records begins with, and the entries after the one that begins like this: all, if
  /// there is none, unless the first one is the next. `KEYS[1]` is a list. Numbers differ by fewer than 2^32.
  static let readEntries = Script(
    text: """
      local last = redis.call('LINDEX', KEYS[1], -1)
      if not last then return {} end
      local function number(entry)
        local a, b, c, d = string.byte(entry, 13, 16)
        return ((a * 256 + b) * 256 + c) * 256 + d
      end
      local first = 0
      if #ARGV[1] > 0 and string.sub(last, 1, 8) == string.sub(ARGV[1], 1, 8) then
        local count = (number(last) - number(ARGV[1])) % 4294967296
        local known = redis.call('LINDEX', KEYS[1], -count - 1)
        if known and string.sub(known, 1, #ARGV[1]) == ARGV[1] then
          if count == 0 then return {string.sub(last, 1, 24)} end
          first = -count
        end
      end
      local entries = redis.call('LRANGE', KEYS[1], first, -1)
      table.insert(entries, 1, string.sub(last, 1, 24))
      return entries
      """)

  /// Adds an entry to a journal of records, or replaces all by it, for so many milliseconds, if the last one begins with this
  /// text; returns whether it did. `KEYS[1]` is a list, `KEYS[2]` what is kept as long.
  static let addEntry = Script(
    text: """
      local last = redis.call('LINDEX', KEYS[1], -1)
      if #ARGV[1] == 0 and last or string.sub(last or '', 1, #ARGV[1]) ~= ARGV[1] then return 0 end
      redis.call('RPUSH', KEYS[1], ARGV[2])
      if ARGV[3] == '1' then redis.call('LTRIM', KEYS[1], -1, -1) end
      redis.call('PEXPIRE', KEYS[1], ARGV[4])
      redis.call('PEXPIRE', KEYS[2], ARGV[4])
      return 1
      """)

  /// Deletes a journal of records, and what is kept as long, and begins it with an entry, for so many milliseconds.
  static let signOut = Script(
    text: """
      redis.call('DEL', KEYS[1], KEYS[2])
      redis.call('RPUSH', KEYS[1], ARGV[1])
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      return 1
      """)

  /// Sets a key for so many milliseconds, also without memory.
  static let mark = Script(
    text: "redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) return 1")

  /// Marks a value by a version, which is remembered for so many milliseconds at least: returns that of what is newer.
  static let invalidate = Script(
    text: later + """
      local h = redis.call('HMGET', KEYS[1], 'v', 'r', 'm', 'd')
      redis.call('DEL', KEYS[2])
      local known = later(h[1], h[2])
      if known > ARGV[1] then return known end
      redis.call('HSET', KEYS[1], 'm', later(h[3], ARGV[1]))
      if h[4] then
        redis.call('HSET', KEYS[1], 'i', '1', 'n', redis.call('INCR', KEYS[3]))
      else
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
      end
      return ''
      """)

  /// Removes a value by a version, which is remembered for so many milliseconds: returns that of what is newer.
  static let remove = Script(
    text: later + """
      local h = redis.call('HMGET', KEYS[1], 'v', 'r', 'm')
      redis.call('DEL', KEYS[2])
      local known = later(h[1], h[2])
      if known > ARGV[1] then return known end
      redis.call('DEL', KEYS[1])
      redis.call('HSET', KEYS[1], 'r', ARGV[1])
      if h[3] then redis.call('HSET', KEYS[1], 'm', h[3]) end
      redis.call('PEXPIRE', KEYS[1], ARGV[2])
      return ''
      """)

  /// Remembers a removal of everything for so many milliseconds.
  static let noteRemovalOfAll = Script(
    text: later + """
      redis.call('SET', KEYS[1], later(redis.call('GET', KEYS[1]), ARGV[1]), 'PX', ARGV[2])
      return 1
      """)

  /// Which of some keys have a value.
  static let haveValues = Script(
    text: """
      local found = {}
      for place, key in ipairs(KEYS) do found[place] = redis.call('HEXISTS', key, 'd') end
      return found
      """)

  /// Takes the lease with a token for so many milliseconds; or returns the value, if its version is another than the one
  /// that is known; or only that version, if the lease is another's.
  static let acquire = Script(
    text: """
      local v = redis.call('HMGET', KEYS[1], 'd', 'i', 'v')
      local version = v[3] or '0'
      if ARGV[3] ~= '' and v[1] and version ~= ARGV[3] and v[2] ~= '1' then return {'value', version, v[1]} end
      if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'lease', version} end
      return {'wait', version}
      """)

  static let renew = Script(
    text: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0")

  static let release = Script(
    text: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
}
