import Streams
import SystemBase
import Testing

@Suite struct TaskMailboxTests {
  @Test func `jobs run in order on the task that awaits`() async {
    let mailbox = TaskMailbox()
    let log = Locked<[Int]>([])
    for number in 1...3 { #expect(mailbox.submit { log.withLock { $0.append(number) } }) }
    #expect(log.withLock { $0 }.isEmpty)
    #expect(mailbox.submit { mailbox.close() })
    await mailbox.run {}
    #expect(log.withLock { $0 } == [1, 2, 3])
  }

  @Test func `a job that comes while the task waits wakes it`() async {
    let mailbox = TaskMailbox()
    let log = Locked<[Int]>([])
    async let run: Void = mailbox.run {}
    for number in 1...1000 {
      await Task.yield()
      #expect(mailbox.submit { log.withLock { $0.append(number) } })
    }
    #expect(mailbox.submit { mailbox.close() })
    await run
    #expect(log.withLock { $0 } == Array(1...1000))
  }

  @Test func `a closed mailbox takes nothing, and runs nothing more`() async {
    let mailbox = TaskMailbox()
    let count = Counter()
    #expect(mailbox.submit { count.increment() })
    mailbox.close()
    #expect(!mailbox.submit { count.increment() })
    await mailbox.run {}
    #expect(count.count == 0)
  }

  @Test func `a closed mailbox releases the jobs that it did not run`() {
    let mailbox = TaskMailbox()
    weak var left: ClosureJob?
    do {
      let job = ClosureJob { _ = mailbox.submit {} }
      left = job
      #expect(mailbox.submit(job))
    }
    #expect(left != nil)
    mailbox.close()
    #expect(left == nil)
  }

  @Test func `a source finds the mailbox of the task that awaits its value, and none where no task does`() async throws
  {
    let source = Observable<Bool>.create { observer in
      guard let mailbox = TaskMailbox.current else {
        observer.onNext(false)
        return Disposables.create()
      }
      let isTaken = mailbox.submit { observer.onNext(true) }
      #expect(isTaken)
      return Disposables.create()
    }
    #expect(try await source.value)
    #expect(source.take(1).recorded() == ["false", "|", "."])
    // Neither after it.
    #expect(TaskMailbox.current == nil)
  }

  @Test func `a stream that a job subscribes to finds the mailbox, too`() async throws {
    let inner = Observable<Bool>.deferred { .just(TaskMailbox.current != nil) }
    let outer = Observable<Bool>.create { observer in
      let isTaken = TaskMailbox.current?.submit { observer.onNext(true) } ?? false
      #expect(isTaken)
      return Disposables.create()
    }
    #expect(try await outer.flatMap { _ in inner }.value)
  }
}

private final class ClosureJob: TaskMailbox.Job {
  let action: @Sendable () -> Void

  init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
  }

  func run() { action() }
}

extension TaskMailbox {
  fileprivate func submit(_ action: @escaping @Sendable () -> Void) -> Bool { submit(ClosureJob(action)) }
}
