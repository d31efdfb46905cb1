extension SocketTransport {
  /// What a transport's connections are doing, and how many requests wait for one.
  public struct Statistics: Hashable, Sendable {
    /// Numbers of connections by what they are doing, and of waiting requests.
    public struct Counts: Hashable, Sendable {
      /// The connections that are being opened.
      public var opening = 0

      /// The open connections that no request uses.
      public var idle = 0

      /// The open connections that carry a request.
      public var busy = 0

      /// The requests that wait for a connection.
      public var waiting = 0

      /// All connections, including those that are being opened.
      public var connections: Int { opening + idle + busy }
    }

    /// The numbers for all origins together.
    public internal(set) var total = Counts()

    /// The numbers for each origin that has connections or waiting requests. Requests in clear text that go through a
    /// proxy count for the proxy, which is whom they are connected to.
    public internal(set) var origins: [HTTPOrigin: Counts] = [:]
  }
}

extension SocketTransport.Statistics.Counts {
  mutating func add(_ other: Self) {
    opening += other.opening
    idle += other.idle
    busy += other.busy
    waiting += other.waiting
  }
}
