/// What is wrong with a marble string.
struct MarbleFault: Error {
  let description: String
}
