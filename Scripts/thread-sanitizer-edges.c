// Tells the thread sanitizer what comes before what in two places of Swift's libraries, which it cannot see into. Preloaded,
// these functions stand in front of the libraries' and add the missing edge; nothing is suppressed.
//
// `Mutex`: on Linux the uncontended path is compiled, with its atomics, into the code that uses it, so the sanitizer sees it.
// Under contention the library locks and unlocks through the kernel (FUTEX_LOCK_PI), which the sanitizer cannot see: it would
// report races between two sections that the mutex keeps apart.
//
// `UnsafeContinuation`: where one is resumed before its task comes to await it, the library lets the task go on at once, and
// does not tell. (Checked ones are resumed inside the library, where nothing can stand in front.)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define ASYNC __attribute__((swiftasynccall))
#define SELF __attribute__((swift_context)) void *mutex

// Absent in programs without the sanitizer, which inherit the preloading.
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
