import Glibc
import TestSupport
import Testing

/// Runs the program `DiskWriter`, and kills it at some moment after its first line of output.
/// - Returns: The numbers that it has printed, one a line, each of something that was on disk by then.
func numbers(
  ofKilledWriter arguments: [String], using random: inout SplitMix
) async throws -> [Int] {
  let child = try ChildProcess(RepositoryLayout.executable("DiskWriter"), arguments)
  try await child.waitForOutput(containing: "\n")
  // There is no event to wait for: it may die anywhere.
  usleep(UInt32.random(in: 0..<8_000, using: &random))
  child.send(SIGKILL)
  let state = try await child.waitForEnd()
  #expect(state.ending == .signalled(SIGKILL), "\(state.errorText)")
  // The last line may be cut.
  return state.outputText.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Int($0) }
}
