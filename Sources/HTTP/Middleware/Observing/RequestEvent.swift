/// What happened to a request. More cases may come: a `switch` over them needs a `default`.
public enum RequestEvent: Sendable {
  /// It waited in line for that long, and goes on.
  case dequeued(after: Duration)

  /// It is sent, for the first time or again; attempts are counted from 1, whatever they are made for.
  case attemptStarted(Int)

  /// An attempt is over.
  case attemptEnded(AttemptSummary)

  /// It will be sent again after a wait, for this reason.
  case retrying(after: Duration, reason: RequestError)

  /// It is slow, and is sent a second time beside the first.
  case hedging

  /// Its token was turned down: it waits for another one.
  case challenged

  /// The server sent it elsewhere within the origin, with this status.
  case redirected(Int)

  /// It is over.
  case ended(RequestSummary)
}
