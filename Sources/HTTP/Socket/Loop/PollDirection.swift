/// What to wait for on a descriptor.
enum PollDirection {
  case reading, writing
}
