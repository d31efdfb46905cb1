// Tests run one after the other, also where `swift test` is not given `--no-parallel`: some wait on their thread, of which
// Swift has as many as there are processors, and those that race or measure would disturb others.

#include <stdlib.h>

// Before Swift Testing reads its environment. A value that is there stays. All tests are linked into one program, which alone
// gets this: in one that has Swift's library linked in, a changed environment would hide the arguments from Swift.
__attribute__((constructor)) static void run_one_after_the_other(void) {
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "1", 0);
}
