// Checks CLinux on the system that this is compiled for: prints nothing and ends with 0, or says what is wrong.

#include <CLinux.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(bool is_true, const char *what) {
  if (is_true) return;
  fprintf(stderr, "wrong: %s\n", what);
  failures++;
}

static bool is_on_stack(void) {
  uintptr_t low, here = (uintptr_t)&low;
  size_t size;
  return clinux_stack(&low, &size) == 0 && low < here && here < low + size;
}

static void *in_thread(void *unused) {
  clinux_name_thread("other-systems");
  char name[16] = "";
  prctl(PR_GET_NAME, name, 0, 0, 0);
  expect(strcmp(name, "other-systems") == 0, "the name of a thread");
  expect(is_on_stack(), "the stack of a thread");
  expect(!clinux_is_main_thread(), "a thread is not the main one");
  return unused;
}

// Every bit of an event's data, of more events than are taken at once.
static void check_events(void) {
  enum { count = 300 };
  static clinux_event events[count];
  static bool is_seen[count];
  int epoll = clinux_epoll_create(), found = 0, ready;
  const uint64_t high = 0xFEDCBA9876540000;
  for (int number = 0; number < count; number++) {
    int descriptor = clinux_eventfd_create();
    uint64_t one = 1;
    expect(clinux_epoll_add(epoll, descriptor, high | number) == 0, "an event is registered");
    expect(write(descriptor, &one, sizeof one) == sizeof one, "an event is set");
  }
  while ((ready = clinux_epoll_wait(epoll, events, count, false)) > 0) {
    expect(ready <= 256, "at most 256 events are taken at once");
    for (int place = 0; place < ready; place++) {
      uint64_t number = events[place].data ^ high;
      expect(number < count && !is_seen[number], "the data of an event");
      expect(events[place].events & clinux_readable, "an event can be read");
      if (number < count && !is_seen[number]) found++;
      if (number < count) is_seen[number] = true;
    }
  }
  expect(found == count, "each event comes once");
}

static void check_timer(void) {
  int timer = clinux_timer_create(), epoll = clinux_epoll_create();
  clinux_event event;
  uint64_t count = 0;
  expect(clinux_epoll_add(epoll, timer, 7) == 0, "a timer is registered");
  expect(clinux_timer_set(timer, 1000000) == 0, "a timer is set");
  expect(clinux_epoll_wait(epoll, &event, 1, true) == 1 && event.data == 7, "a timer fires");
  expect(read(timer, &count, sizeof count) == sizeof count && count == 1, "a timer fires once");
}

int main(void) {
  check_events();
  check_timer();
  expect(is_on_stack(), "the stack of the main thread");
  expect(clinux_is_main_thread(), "the main thread is the main one");
  pthread_t thread;
  if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, NULL);
  return failures > 0;
}
