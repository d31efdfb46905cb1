#if os(Linux)
  import CLinux
  import Foundation

  /// Waits with epoll: each descriptor is registered once, for everything.
  final class EpollPoller: Poller, @unchecked Sendable {
    // `wake` uses a constant alone; the rest belongs to the loop's thread.
    private static let wakeToken = UInt64.max
    private let epoll: Int32
    private let wakeDescriptor: Int32
    private var batch = [clinux_event](repeating: clinux_event(), count: 256)

    init() throws(SystemError) {
      epoll = clinux_epoll_create()
      guard epoll >= 0 else { throw .last }
      wakeDescriptor = clinux_eventfd_create()
      guard wakeDescriptor >= 0, clinux_epoll_add(epoll, wakeDescriptor, Self.wakeToken) == 0 else {
        let error = SystemError.last
        close(epoll)
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        throw error
      }
    }

    deinit {
      close(wakeDescriptor)
      close(epoll)
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

    func wait(milliseconds: Int32, into events: inout [PollEvent]) {
      events.removeAll(keepingCapacity: true)
      let count = batch.withUnsafeMutableBufferPointer {
        clinux_epoll_wait(epoll, $0.baseAddress, Int32($0.count), milliseconds)
      }
      // Below zero is an interruption: the caller comes back.
      guard count > 0 else { return }
      for event in batch[..<Int(count)] {
        guard event.data != Self.wakeToken else {
          var value: UInt64 = 0
          _ = read(wakeDescriptor, &value, 8)
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

    func wake() {
      var one: UInt64 = 1
      _ = write(wakeDescriptor, &one, 8)
    }
  }
#endif
