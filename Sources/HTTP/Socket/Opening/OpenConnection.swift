/// A connection that a request can be written to.
struct OpenConnection {
  let socket: OpenSocket
  let channel: any ByteChannel
}
