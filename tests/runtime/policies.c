// Policies that test_policies.py tries.
#include <unistd.h>

#include "millrace.h"

double later_operators_first(const millrace_ready* ready, void* state) {
  (void)state;
  return ready->index;
}

double counts_its_calls(const millrace_ready* ready, void* state) {
  __atomic_add_fetch((uint64_t*)state, 1, __ATOMIC_RELAXED);
  return (double)ready->queued;
}

double no_number(const millrace_ready* ready, void* state) {
  (void)ready, (void)state;
  return __builtin_nan("");
}

// Sets its state, if it has one, and stays.
double never_returns(const millrace_ready* ready, void* state) {
  (void)ready;
  if (state) __atomic_store_n((uint64_t*)state, 1, __ATOMIC_RELEASE);
  for (;;) sleep(1);
}

// Decides preemption, too: always.
uint32_t switches_calls = 0;

double switches(const millrace_ready* ready, void* state) {
  (void)state;
  return (double)ready->queued;
}

int32_t switches_preempts(const millrace_ready* running, void* state) {
  (void)state;
  __atomic_add_fetch(&switches_calls, 1, __ATOMIC_RELAXED);
  return running->ran_ns >= 0 && running->quantum_ns > 0;
}

int32_t always_fails(const millrace_ready* running, void* state) {
  (void)running, (void)state;
  return -1;
}

// As many tuples as wait before all ports; not a number if they do not add up.
double of_ports(const millrace_ready* ready, void* state) {
  uint64_t queued = 0;
  (void)state;
  for (uint32_t i = 0; i < ready->inputs; ++i) queued += ready->input[i].queued;
  for (uint32_t i = 0; i < ready->outputs; ++i) {
    if (ready->output[i].room < ready->room) return __builtin_nan("");
  }
  return queued == ready->queued ? (double)queued : __builtin_nan("");
}
