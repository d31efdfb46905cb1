/// An open connection, ready for a request.
struct OpenConnection {
  let socket: OpenSocket
  let channel: any ByteChannel
}
