// Typed loops that do what a script says, for tests: tuples of one number each.
#include <time.h>

#include "millrace.h"

struct number {
  uint64_t n;
} __attribute__((aligned(8)));

struct step {
  uint32_t pushes;  // 0: takes `count` tuples of input port `port`, 1: sends as many by output port `port`, 2: the first time only
  uint32_t port, count;
};
struct script {
  uint32_t steps;
  struct step step[16];
  uint64_t sum;
  uint64_t nap_ns;  // before each step
};

static void nap(uint64_t ns) {
  const struct timespec time = {0, (long)ns};
  if (ns > 0) nanosleep(&time, 0);
}

// The script, again and again, until a wait says that it is over.
int32_t scripted(millrace_loop* loop, void* state) {
  struct script* script = state;
  uint32_t counts[8];
  for (;;) {
    for (uint32_t i = 0; i < script->steps; ++i) {
      struct step* step = &script->step[i];
      nap(script->nap_ns);
      if (step->pushes) {
        for (uint32_t k = 0; k < step->count; ++k) {
          ((struct number*)millrace_room(loop->context, step->port))->n = script->sum * 7 + step->port + k;
          millrace_send(loop->context, step->port);
        }
        if (step->pushes == 2) step->count = 0;
        continue;
      }
      for (uint32_t port = 0; port < loop->inputs; ++port) counts[port] = port == step->port ? step->count : 0;
      if (loop->wait_all(loop, counts) <= 0) return 0;
      for (uint32_t k = 0; k < step->count; ++k) {
        millrace_tuple tuple;
        loop->pop(loop, step->port, &tuple);
        script->sum = script->sum * 31 + ((const struct number*)tuple.payload)->n;
      }
    }
  }
}

// A source that sends the first tuple by output port 1, all others by output port 0, takes its time, and never has to wait.
int32_t slow_source(millrace_context* context, void* state) {
  struct script* script = state;
  const uint32_t output = script->sum++ == 0;
  nap(script->nap_ns);
  ((struct number*)millrace_room(context, output))->n = script->sum;
  millrace_send(context, output);
  return MILLRACE_MORE;
}
