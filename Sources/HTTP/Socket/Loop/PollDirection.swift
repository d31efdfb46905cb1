/// What a descriptor is waited on for.
enum PollDirection {
  case reading, writing
}
