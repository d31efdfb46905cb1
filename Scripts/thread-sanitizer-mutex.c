// Tells the thread sanitizer of the contended path of Swift's `Mutex`.
//
// On Linux the uncontended path of `Synchronization.Mutex` is compiled, with its atomics, into the code that uses it, so
// the sanitizer sees it. Under contention the library locks and unlocks through the kernel (FUTEX_LOCK_PI), which the
// sanitizer cannot see: without this it reports races between two sections that the mutex keeps apart. Preloaded, these
// functions stand in front of the library's and add the missing happens-before edge; nothing is suppressed.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

// Absent in programs without the sanitizer, which inherit the preloading.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

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
