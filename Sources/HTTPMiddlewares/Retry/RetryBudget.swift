import HTTPClientCore

/// Limits retries, so that clients do not add to the load of a failing server: for each origin, one retry for ten
/// requests by default.
///
/// Each request earns a fraction of a retry, up to a reserve. The reserve is full at the start, so that a process that
/// sends little can retry at once; in return, the first requests earn nothing until they have paid for it. With the
/// default of a tenth and a reserve of 10, a thousand requests that all fail add at most a hundred. For a process that
/// sends little, a reserve that was used up also comes back with time: by default, all of it within an hour.
///
/// Retries and hedges may share one budget, which is thread-safe; their schedulers tell the time. It keeps at most
/// 1,024 origins; those that were not used for longest are forgotten, which fills their reserves again.
public final class RetryBudget: Sendable {
  private let earnings: Double
  private let recovery: Duration?
  private let accounts: OriginTable<Account>

  /// Takes the fraction of a retry that each request earns, from 0 to 1, the maximum number of retries in reserve, and
  /// how long it takes for an empty reserve to fill up even without requests; `nil` means that it does not.
  public init(retriesPerRequest: Double = 0.1, reserve: Int = 10, recovery: Duration? = .seconds(3600)) {
    earnings = min(max(retriesPerRequest, 0), 1)
    self.recovery = recovery
    accounts = OriginTable { Account(reserve: Double(max(reserve, 0))) }
  }

  /// Counts a request once, however many middlewares with this budget it passes, and however often.
  func count(_ request: HTTPRequest, _ entry: RequestEntry) {
    guard entry.isFirst(for: ObjectIdentifier(self)) else { return }
    accounts.withValue(of: request.origin) { $0.earn(earnings) }
  }

  /// Takes one retry out of the budget; returns false if there is none left. `now` is a scheduler's time.
  func withdraw(for origin: HTTPOrigin, at now: Duration = .zero) -> Bool {
    accounts.withValue(of: origin) { account in
      account.recover(by: now, within: recovery)
      return account.withdraw()
    }
  }

  /// The balance of one origin.
  struct Account {
    private let reserve: Double
    private var stock: Double
    private var debt: Double
    /// The time up to which the stock has recovered.
    private var recovered: Duration?

    init(reserve: Double) {
      self.reserve = reserve
      stock = reserve
      debt = reserve
    }

    mutating func earn(_ amount: Double) {
      if debt > 0 {
        debt -= amount
      } else {
        stock = min(stock + amount, reserve)
      }
    }

    mutating func recover(by now: Duration, within recovery: Duration?) {
      if let recovery, let recovered, now > recovered {
        stock = min(stock + reserve * min((now - recovered) / max(recovery, .nanoseconds(1)), 1), reserve)
      }
      recovered = max(now, recovered ?? now)
    }

    mutating func withdraw() -> Bool {
      // Tenths do not add up exactly in binary.
      guard stock > 1 - 1e-6 else { return false }
      stock -= 1
      return true
    }
  }
}
