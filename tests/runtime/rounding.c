// Functions that choose how this thread rounds: the loop keeps to it, the operator leaves it behind when it returns.
#include <fenv.h>

#include "millrace.h"

struct Rounding {
  int32_t upward;
  uint64_t calls, foreign;
};

static double third(void) {
  volatile double three = 3.0;
  return 1.0 / three;
}

int32_t keeps_a_mode(millrace_loop* loop, void* state) {
  struct Rounding* own = state;
  const uint32_t one = 1;
  millrace_tuple tuple;
  fesetround(own->upward ? FE_UPWARD : FE_DOWNWARD);
  const double expected = third();
  while (loop->wait_any(loop, &one) == 1) {
    while (loop->pop(loop, 0, &tuple) == 1) {
      own->calls += 1;
      own->foreign += third() != expected;
      if (loop->push(loop, 0, tuple.value) == 0) return 0;
      own->foreign += third() != expected;
    }
  }
  return 0;
}

int32_t leaves_a_mode(uint64_t sequence, double* value, char* payload, uint64_t bytes, double control, void* state) {
  (void)sequence, (void)value, (void)payload, (void)bytes, (void)control, (void)state;
  fesetround(FE_UPWARD);
  return 1;
}

int32_t sees_a_mode(uint64_t sequence, double* value, char* payload, uint64_t bytes, double control, void* state) {
  (void)sequence, (void)value, (void)payload, (void)bytes, (void)control;
  struct Rounding* own = state;
  own->calls += 1;
  own->foreign += fegetround() != FE_TONEAREST;
  return 1;
}
