/// An error that was already printed; it only determines the exit code.
struct ToldError: Error {
  let cause: any Error
}
