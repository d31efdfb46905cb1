enum PollDirection {
  case reading, writing
}
