import Foundation

/// Waits with `poll`, for systems without epoll; its cost grows with the number of descriptors.
///
/// `@unchecked Sendable`: `wake` only uses a constant; everything else is used only on the loop's thread.
final class PollPoller: Poller, @unchecked Sendable {
  private let wakeReader: Int32
  private let wakeWriter: Int32
  private var tokens: [Int32: UInt64] = [:]
  private var armed: [Int32: Int32] = [:]
  private var batch: [pollfd] = []

  init() throws(SystemError) {
    var pipes: [Int32] = [0, 0]
    guard pipe(&pipes) == 0 else { throw .last }
    for descriptor in pipes {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }
    (wakeReader, wakeWriter) = (pipes[0], pipes[1])
  }

  deinit {
    close(wakeReader)
    close(wakeWriter)
  }

  func add(_ descriptor: Int32, token: UInt64) throws(SystemError) {
    tokens[descriptor] = token
    armed[descriptor] = POLLIN | POLLOUT
  }

  func remove(_ descriptor: Int32) {
    tokens[descriptor] = nil
    armed[descriptor] = nil
  }

  func rearm(_ descriptor: Int32, _ direction: PollDirection) {
    guard tokens[descriptor] != nil else { return }
    armed[descriptor, default: 0] |= direction == .reading ? POLLIN : POLLOUT
  }

  func wait(until instant: Instant?, into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    batch.removeAll(keepingCapacity: true)
    batch.append(pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0))
    for (descriptor, interest) in armed { batch.append(pollfd(fd: descriptor, events: Int16(interest), revents: 0)) }
    guard poll(&batch, nfds_t(batch.count), Self.milliseconds(until: instant)) > 0 else { return }
    if batch[0].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(wakeReader, &bytes, bytes.count) > 0 {}
    }
    for entry in batch.dropFirst() where entry.revents != 0 {
      guard let token = tokens[entry.fd], let interest = armed[entry.fd] else { continue }
      let happened = Int32(entry.revents)
      let isOver = happened & (POLLERR | POLLHUP | POLLNVAL) != 0
      // `poll` reports an end again and again: report it once, unless the handler reads on.
      let rest = isOver ? 0 : interest & ~happened
      armed[entry.fd] = rest == 0 ? nil : rest
      events.append(
        PollEvent(
          token: token, isReadable: isOver || happened & POLLIN != 0, isWritable: isOver || happened & POLLOUT != 0,
          isOver: isOver))
    }
  }

  /// Rounded up, so that it does not return too early, and at most an hour.
  private static func milliseconds(until instant: Instant?) -> Int32 {
    guard let instant else { return -1 }
    return Int32(min(max(((instant - .now) / .milliseconds(1)).rounded(.up), 0), 3_600_000))
  }

  func wake() {
    var one: UInt8 = 1
    _ = write(wakeWriter, &one, 1)
  }
}
