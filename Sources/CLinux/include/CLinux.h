#ifndef CLINUX_H
#define CLINUX_H

// Linux system calls that Swift's Glibc module lacks. Everything is inline, so there is nothing to link.
#if __linux__

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

// What Swift uses instead of `struct epoll_event`, which is packed on some processors and has a union for its data.
typedef struct {
  uint32_t events;
  uint64_t data;
} clinux_event;

enum {
  clinux_readable = EPOLLIN,
  clinux_writable = EPOLLOUT,
  clinux_peer_closed = EPOLLRDHUP,
  clinux_hung_up = EPOLLHUP,
  clinux_failed = EPOLLERR,
};

static inline int clinux_epoll_create(void) {
  return epoll_create1(EPOLL_CLOEXEC);
}

// Registers a descriptor for all events, edge-triggered.
static inline int clinux_epoll_add(int epoll, int descriptor, uint64_t data) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET};
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Takes at most 256 events; waits for the first one, without a timeout, if it may.
static inline int clinux_epoll_wait(int epoll, clinux_event *events, int count, bool may_wait) {
  struct epoll_event batch[256];
  int ready = epoll_wait(epoll, batch, count < 256 ? count : 256, may_wait ? -1 : 0);
  for (int index = 0; index < ready; index++) {
    events[index].events = batch[index].events;
    events[index].data = batch[index].data.u64;
  }
  return ready;
}

static inline int clinux_eventfd_create(void) {
  return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static inline int clinux_timer_create(void) {
  return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

// Makes the timer fire once after this many nanoseconds, which must not be 0.
static inline int clinux_timer_set(int timer, uint64_t nanoseconds) {
  struct itimerspec time = {
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  return timerfd_settime(timer, 0, &time, 0);
}

// Names the calling thread, by at most 15 bytes.
static inline void clinux_name_thread(const char *name) {
  prctl(PR_SET_NAME, name, 0, 0, 0);
}

static inline int clinux_is_main_thread(void) {
  return (long)getpid() == syscall(SYS_gettid);
}

// Declared by <pthread.h> for GNU's C alone.
extern int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes);

// Finds the lowest address of the calling thread's stack and its size; returns 0 if it did.
static inline int clinux_stack(uintptr_t *low, size_t *size) {
  pthread_attr_t attributes;
  void *address = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return -1;
  int result = pthread_attr_getstack(&attributes, &address, size);
  pthread_attr_destroy(&attributes);
  *low = (uintptr_t)address;
  return result;
}

#endif
#endif
