/// Limits retries, so that clients do not add to the load of a failing server: for each origin, one retry for ten
/// requests by default.
///
/// Each request earns a part of a retry, up to a reserve. The reserve is full at the start, so that a process that sends
/// little may retry at once; the first requests earn nothing until it is paid for. With the default of a tenth and
/// a reserve of 10, a thousand requests that all fail add a hundred at most.
///
/// Retries and hedges may share one budget. It needs no clock, and may be used from any thread. Of more than 1,024
/// origins those that were not used for longest are forgotten: their reserves are full again.
public final class RetryBudget: Sendable {
  private let earnings: Double
  private let accounts: OriginTable<Account>

  /// Takes what each request earns, from 0 to 1, and how many retries are kept in stock.
  public init(retriesPerRequest: Double = 0.1, reserve: Int = 10) {
    earnings = min(max(retriesPerRequest, 0), 1)
    accounts = OriginTable { Account(reserve: Double(max(reserve, 0))) }
  }

  /// Counts a request, once however many middlewares ask for it.
  func count(_ request: inout HTTPRequest) {
    guard !request.isCounted else { return }
    request.isCounted = true
    accounts.withValue(of: request.origin) { $0.earn(earnings) }
  }

  /// Takes one retry out of the budget; false where none is left.
  func withdraw(for origin: HTTPOrigin) -> Bool {
    accounts.withValue(of: origin) { $0.withdraw() }
  }

  /// The stock of one origin.
  struct Account {
    private let reserve: Double
    private var stock: Double
    private var debt: Double

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

    mutating func withdraw() -> Bool {
      // Tenths do not add up exactly.
      guard stock > 1 - 1e-6 else { return false }
      stock -= 1
      return true
    }
  }
}
