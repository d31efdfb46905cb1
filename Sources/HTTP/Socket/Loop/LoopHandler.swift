/// The owner of a descriptor on a loop; called on the loop's thread.
protocol LoopHandler: AnyObject {
  /// Something happened to the descriptor.
  func ready(_ event: PollEvent)

  /// The loop has ended: close the descriptor.
  func loopStopped()
}
