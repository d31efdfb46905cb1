/// An error of which standard error has been told; all that is left of it is the exit code.
struct ToldError: Error {
  let cause: any Error
}
