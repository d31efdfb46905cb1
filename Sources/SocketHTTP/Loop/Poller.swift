import CLinux
import HTTPClientCore
import Streams
import SystemBase

/// Waits for descriptors to become ready, and reports each change once ("edge-triggered"): the handler reads and writes
/// until the system would block. Closing a descriptor ends its watch, since descriptors are never duplicated here.
///
/// All methods except `wake` are called on one thread.
protocol Poller: AnyObject {
  /// Begins to watch a descriptor; its events carry the token.
  func add(_ descriptor: Int32, token: UInt64) throws(SystemError)

  /// Waits for events until a time, or without a limit; it may return earlier, and without events.
  func wait(until instant: Instant?, into events: inout [PollEvent])

  /// Takes the events that are there, without waiting.
  func poll(into events: inout [PollEvent])

  /// Ends the current wait or, if there is none, the next one. Thread-safe.
  func wake()
}

extension Poller {
  func poll(into events: inout [PollEvent]) {
    wake()
    wait(until: nil, into: &events)
  }
}

/// An event of a descriptor.
struct PollEvent {
  var token: UInt64
  var isReadable: Bool
  var isWritable: Bool
  /// Whether the peer has stopped sending, or the connection is broken, as far as the poller knows.
  var isOver: Bool
}

/// Waits with epoll: each descriptor is registered once, for all events.
///
/// The time limit of a wait is kept by a timer descriptor, which is set only if it would fire too late: a timeout for
/// each wait would make the kernel set the processor's timer twice each time, which costs more than everything else
/// in a wait.
///
/// `@unchecked Sendable`: `wake` only uses a constant; everything else is used only on the loop's thread.
final class EpollPoller: Poller, @unchecked Sendable {
  private static let wakeToken = UInt64.max
  private static let timerToken = UInt64.max - 1
  private let epoll: Int32
  private let wakeDescriptor: Int32
  private let timer: Int32
  /// When the timer fires, if it is set.
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
    try Socket.checkReserve(besides: max(epoll, wakeDescriptor, timer))
  }

  /// Also runs if `init` throws after all properties have been set.
  deinit {
    for descriptor in [timer, wakeDescriptor, epoll] where descriptor >= 0 { close(descriptor) }
  }

  func add(_ descriptor: Int32, token: UInt64) throws(SystemError) {
    guard clinux_epoll_add(epoll, descriptor, token) == 0 else { throw .last }
  }

  func wait(until instant: Instant?, into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    if let instant { setAlarm(instant) }
    take(&events, mayWait: true)
  }

  func poll(into events: inout [PollEvent]) {
    events.removeAll(keepingCapacity: true)
    take(&events, mayWait: false)
  }

  private func take(_ events: inout [PollEvent], mayWait: Bool) {
    let count = batch.withUnsafeMutableBufferPointer {
      clinux_epoll_wait(epoll, $0.baseAddress, Int32($0.count), mayWait)
    }
    // A negative count means an interruption; the caller calls again.
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
    // Not 0, which would disarm the timer.
    let left = max(instant.nanoseconds - Instant.now.nanoseconds, 1)
    _ = clinux_timer_set(timer, UInt64(left))
  }

  func wake() {
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, 8)
  }
}
