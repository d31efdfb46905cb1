public import Streams

/// How long the phases of a live connection may take, and when another attempt is made.
public struct LiveSettings: Sendable {
  /// From the start of an attempt, once it has its token, until the server has accepted the connection: with TCP, TLS,
  /// and the upgrade of a WebSocket; 20 seconds by default.
  public var dial = Duration.seconds(20)

  /// From then until a WebSocket's `connection_ack`; 10 seconds by default.
  public var acknowledgement = Duration.seconds(10)

  /// How long a connection may be silent. 30 seconds after the last sign of life, by default, a WebSocket is sent a
  /// ping. Proxies drop connections that are silent for longer, often after 60 seconds. A server of the older protocol
  /// that sends keep-alives is sent none: if they stop for so long, and ``pong`` more, the connection is given up.
  public var silence = Duration.seconds(30)

  /// How long to wait for a sign of life after a ping; then the connection is given up. 10 seconds by default.
  public var pong = Duration.seconds(10)

  /// How long an event stream or a multipart response may be silent, without even a comment or a heartbeat, before it is
  /// given up; 45 seconds by default, three times the usual interval.
  public var streamSilence = Duration.seconds(45)

  /// How long a connection must last before the next loss counts as the first; 10 seconds by default. So a server that
  /// accepts connections and drops them is asked less and less often.
  public var stable = Duration.seconds(10)

  /// How long a WebSocket is kept after its last subscription; 5 seconds by default.
  public var idle = Duration.seconds(5)

  /// The pauses before new attempts: at most 1 second before the first, and twice as long from attempt to attempt, up to
  /// 60 seconds by default. Each is any time from none to that: full jitter, so that clients which were cut off together
  /// do not come back together. A server may set the first by the field `retry` of an event stream. What it asks for by
  /// `Retry-After` comes on top, up to a day.
  public var pauses = Backoff(initial: .seconds(1), maximum: .seconds(60))

  /// Whether the server keeps its events for a while and, to a request that names one by `Last-Event-ID`, sends those that
  /// came since. `false` by default: most servers ignore that field, also those that give their events ids, and what
  /// happened between two connections counts as missed (``LiveEvent/reconnected``). With `true` it counts as sent
  /// (``LiveEvent/resumed``), so set it only if the server's documentation promises a history.
  public var serverReplays = false

  /// How many attempts in a row may fail before the subscriptions do; 20 by default, which takes some minutes. `nil` for
  /// any number.
  public var attempts: Int? = 20

  /// Makes settings with the default values.
  public init() {}

  /// Tries again for as long as the subscriptions last, unless the server refuses for good.
  public static var persistent: LiveSettings {
    var settings = LiveSettings()
    settings.attempts = nil
    return settings
  }

  /// How long an attempt may wait for its token, whose refresh has a deadline of its own.
  var preparation: Duration { .seconds(60) }

  /// How long to wait for the end of a connection that is being closed.
  var closing: Duration { .seconds(5) }
}
