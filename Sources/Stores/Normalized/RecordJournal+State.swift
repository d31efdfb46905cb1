/// What a journal knows.
extension RecordJournal {
  struct State {
    var isOpen = true
    /// The place of the last entry that was read or written.
    var position: RecordPosition?
    /// Whether all has to be written, in the place of what is there: nothing is, or it cannot be read.
    var mustReplace = true
    /// The bytes of all entries, and those of the first.
    var size = 0
    var firstSize = 0
    /// Whether everything is to be removed before something is written.
    var mustRemove = false
    /// Whether others have signed the account out since what is not written was requested.
    var isOutdated = false
    /// What has changed and is not written yet, and whether that removes something.
    var unwritten: [UInt8] = []
    var removesSomething = false
    /// How many bytes that may be, before what has changed since goes.
    var unwrittenLimit = RecordJournal.limit
    /// Whether more than that is not written: then all has to be.
    var lacksChanges = false
    /// What the journal before could not write, until the storage was read.
    var remains: RecordRemains?
    /// Whether the storage does not say that the server has refused the account, since it has failed to.
    var lacksRefusal = false
    /// Entries that the storage has failed to write, and may have nevertheless.
    var attempts: [Attempt] = []
    /// The random number of the latest sign-out, as the journal has it; 0 if there was none.
    var signOut: UInt64 = 0
    /// Whether the first read has failed: what is there is not known.
    var isUnread = false
    /// What was read or written last, and the greatest number that an entry of the journal has had.
    var history = RecordHistory()
    var greatestNumber: UInt64 = 0
    /// Whether the account was signed out here, also if the storage could not do it: nothing is written any more.
    var isSignedOut = false
    /// How often the storage has failed in a row, and whether a timer tries it again.
    var failures = 0
    var awaitsRetry = false

    mutating func note(_ entry: RecordEntry) {
      if entry.position.journal != history.last?.journal { greatestNumber = 0 }
      greatestNumber = max(greatestNumber, entry.position.number)
      history.note(entry)
    }

    /// Forgets what is not written.
    mutating func dropChanges() {
      (unwritten, removesSomething, lacksChanges, isOutdated, attempts) = ([], false, false, false, [])
      unwrittenLimit = RecordJournal.limit
    }

    /// Says what is not written in fewer bytes. Of an entry with a part of it, it would not be known any more which part.
    mutating func shortenUnwritten(to bytes: [UInt8]) {
      attempts = attempts.filter { $0.count == unwritten.count }.map { attempt in
        Attempt(position: attempt.position, hash: attempt.hash, count: bytes.count, isAll: attempt.isAll)
      }
      unwritten = bytes
    }

    var isInUse: Bool { isOpen && !isSignedOut }

    /// Forgets as much of what is not written as is in an entry, if it was written nevertheless: on top of what others have
    /// added since, it would undo that.
    mutating func noteOwn(_ entry: RecordEntry) {
      let hash = attempts.contains { $0.position == entry.position } ? entry.bytes.hashValue : 0
      guard let attempt = attempts.last(where: { $0.position == entry.position && $0.hash == hash }) else { return }
      unwritten.removeFirst(min(attempt.count, unwritten.count))
      if attempt.isAll { lacksChanges = false }
      removesSomething = removesSomething && (lacksChanges || !unwritten.isEmpty)
    }
  }

  /// An entry that the storage has failed to write.
  struct Attempt {
    let position: RecordPosition
    let hash: Int
    /// How many of the bytes that are not written it has.
    let count: Int
    let isAll: Bool

    func isOf(_ entry: RecordEntry?) -> Bool { entry?.position == position && entry?.bytes.hashValue == hash }
  }

  /// What becomes of what the storage reports.
  struct Listening {
    /// Whether what others have added is being read, or soon will be.
    var isBusy = false
    /// Whether something was reported since that began.
    var isRepeated = false
    /// Whether that has failed, so that it is tried again by a timer alone: a storage that takes too long to read may say
    /// that it is back each time that it has been given up.
    var leavesToTimer = false

    /// Whether there is something to read; if not, nothing is read any more.
    mutating func takesRepetition() -> Bool {
      isBusy = exchange(&isRepeated, with: false)
      return isBusy
    }
  }
}

extension RecordTail {
  /// The random number of the latest sign-out that the entries know of; 0 if there was none.
  var signOut: UInt64 { entries.last(where: \.isWhole)?.bytes.signOut ?? 0 }
}

extension RecordEntry {
  /// Whether it is all that there is, and not a change.
  var isWhole: Bool {
    [RecordStatement.beginning, .signedOut].contains { $0.rawValue == bytes.first }
  }
}
