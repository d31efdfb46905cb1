#if os(Linux)
  import CLinux
  import Foundation

  /// Waits with epoll: each descriptor is registered once, for everything.
  ///
  /// Times are kept by a descriptor of their own, which is set only where it would go off too late: a time given to each
  /// wait makes the processor set its clock twice for each, which costs more than all else that the wait does.
  ///
  /// `@unchecked Sendable`: `wake` uses a constant alone; the rest belongs to the loop's thread.
  final class EpollPoller: Poller, @unchecked Sendable {
    private static let wakeToken = UInt64.max
    private static let timerToken = UInt64.max - 1
    private let epoll: Int32
    private let wakeDescriptor: Int32
    private let timer: Int32
    /// When the timer goes off, if it has been set and has not.
    private var alarm: Instant?
    private var batch = [clinux_event](repeating: clinux_event(), count: 256)

    init() throws(SystemError) {
      epoll = clinux_epoll_create()
      guard epoll >= 0 else { throw .last }
      wakeDescriptor = clinux_eventfd_create()
      timer = clinux_timer_create()
      guard wakeDescriptor >= 0, timer >= 0, clinux_epoll_add(epoll, wakeDescriptor, Self.wakeToken) == 0,
        clinux_epoll_add(epoll, timer, Self.timerToken) == 0
      else { throw .last }
    }

    /// Runs also where `init` throws when it has set everything.
    deinit {
      for descriptor in [timer, wakeDescriptor, epoll] where descriptor >= 0 { close(descriptor) }
    }

    func add(_ descriptor: Int32, token: UInt64) throws(SystemError) {
      guard clinux_epoll_add(epoll, descriptor, token) == 0 else { throw .last }
    }

    func remove(_ descriptor: Int32) {
      // Closing removes it, for no descriptor here is ever duplicated.
    }

    func rearm(_ descriptor: Int32, _ direction: PollDirection) {
      // The next edge comes by itself.
    }

    func wait(until instant: Instant?, into events: inout [PollEvent]) {
      events.removeAll(keepingCapacity: true)
      if let instant { setAlarm(instant) }
      let count = batch.withUnsafeMutableBufferPointer { clinux_epoll_wait(epoll, $0.baseAddress, Int32($0.count)) }
      // Below zero is an interruption: the caller comes back.
      guard count > 0 else { return }
      for event in batch[..<Int(count)] {
        guard event.data < Self.timerToken else {
          if event.data == Self.timerToken { alarm = nil }
          var value: UInt64 = 0
          _ = read(event.data == Self.timerToken ? timer : wakeDescriptor, &value, 8)
          continue
        }
        let isBroken = event.events & UInt32(clinux_failed | clinux_hung_up) != 0
        let isOver = isBroken || event.events & UInt32(clinux_peer_closed) != 0
        events.append(
          PollEvent(
            token: event.data, isReadable: isOver || event.events & UInt32(clinux_readable) != 0,
            isWritable: isBroken || event.events & UInt32(clinux_writable) != 0, isOver: isOver))
      }
    }

    private func setAlarm(_ instant: Instant) {
      if let alarm, alarm <= instant { return }
      alarm = instant
      // Not 0, which would take the time back.
      let left = max(instant.nanoseconds - Instant.now.nanoseconds, 1)
      _ = clinux_timer_set(timer, UInt64(left))
    }

    func wake() {
      var one: UInt64 = 1
      _ = write(wakeDescriptor, &one, 8)
    }
  }
#endif
