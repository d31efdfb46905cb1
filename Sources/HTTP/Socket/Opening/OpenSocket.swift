/// A connected socket that the loop watches.
struct OpenSocket {
  let socket: Socket
  let token: LoopToken
}
