/// An event in the life of a request. Cases may be added, so a `switch` over them needs a `default`.
@nonexhaustive
public enum RequestEvent: Sendable {
  /// It has waited in line for this long, and continues.
  case dequeued(after: Duration)

  /// It is sent, for the first time or again. Attempts are counted from 1, whatever their reason.
  case attemptStarted(Int)

  /// An attempt is over.
  case attemptEnded(AttemptSummary)

  /// It will be sent again after a pause, for this reason.
  case retrying(after: Duration, reason: RequestError)

  /// It is slow, and is sent a second time in parallel.
  case hedging

  /// Its token was rejected; it waits for another one.
  case challenged

  /// It was redirected within its origin, with this status.
  case redirected(Int)

  /// It is over.
  case ended(RequestSummary)
}
