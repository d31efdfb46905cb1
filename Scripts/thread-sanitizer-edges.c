// Tells the thread sanitizer about two happens-before edges in Swift's libraries, which are not instrumented. When
// preloaded, these functions interpose the libraries' own and add the missing edges; nothing is suppressed.
//
// `Mutex`: on Linux the uncontended path is compiled, with its atomics, into the code that uses it, so the sanitizer
// sees it. Under contention the library locks and unlocks through the kernel (FUTEX_LOCK_PI), which the sanitizer does
// not see: it would report races between two sections that the mutex serialises.
//
// `UnsafeContinuation`: if one is resumed before its task awaits it, the library lets the task continue at once,
// without an edge that the sanitizer sees. (Checked ones are resumed inside the library, where they cannot be
// interposed. And a resume within the few instructions between the start of the await and the library's own look is
// still reported, as a race between the closure of `resume` and what follows the await: once in some hundred runs.)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define ASYNC __attribute__((swiftasynccall))
#define SELF __attribute__((swift_context)) void *mutex

// Weak: child processes inherit the preloading, and have no sanitizer.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);
__attribute__((weak)) SWIFT void *swift_task_getCurrent(void);

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void lock_slow(uint32_t thread, SELF) {
  SWIFT void (*library)(uint32_t, SELF) = (SWIFT void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK_SLOW);
  library(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT bool try_lock_slow(SELF) {
  SWIFT bool (*library)(SELF) = (SWIFT bool (*)(SELF))dlsym(RTLD_NEXT, TRY_LOCK_SLOW);
  bool locked = library(mutex);
  if (locked && __tsan_acquire) __tsan_acquire(mutex);
  return locked;
}

SWIFT void unlock_slow(SELF) {
  SWIFT void (*library)(SELF) = (SWIFT void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK_SLOW);
  if (__tsan_release) __tsan_release(mutex);
  library(mutex);
}

SWIFT void swift_continuation_resume(void *task) {
  SWIFT void (*library)(void *) = (SWIFT void (*)(void *))dlsym(RTLD_NEXT, __func__);
  if (__tsan_release) __tsan_release(task);
  library(task);
}

ASYNC void swift_continuation_await(void *context) {
  ASYNC void (*library)(void *) = (ASYNC void (*)(void *))dlsym(RTLD_NEXT, __func__);
  if (__tsan_acquire) __tsan_acquire(swift_task_getCurrent());
  __attribute__((musttail)) return library(context);
}
