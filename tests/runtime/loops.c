// Operators with a loop of their own, for tests.
#include <string.h>

#include "millrace.h"

struct Asked {
  uint32_t mode;  // 0: wait_all, 1: wait_any, 2: a call that is refused, 3: none, 4: pushes for ever, 5: reads its control port
  uint32_t counts[4];
  uint32_t port;
  int32_t answer;
  uint64_t taken, damaged, waiting;
  millrace_loop* kept;
};

static void take(millrace_loop* loop, uint32_t port, struct Asked* asked) {
  millrace_tuple tuple;
  if (loop->pop(loop, port, &tuple) <= 0) return;
  asked->taken += 1;
  uint64_t word;
  if (loop->payload_bytes >= 8) {
    memcpy(&word, tuple.payload, 8);
    if (word != tuple.sequence * 0x9E3779B97F4A7C15) asked->damaged += 1;
  }
}

int32_t run(millrace_loop* loop, void* state) {
  struct Asked* asked = state;
  asked->kept = loop;
  if (asked->mode == 2) {
    millrace_tuple tuple;
    asked->answer = asked->port < 8    ? loop->pop(loop, asked->port, &tuple)
                    : asked->port < 16 ? loop->push(loop, asked->port - 8, 1.0)
                                       : loop->wait_all(loop, asked->counts);
    return 0;
  }
  if (asked->mode == 3) return asked->answer;
  if (asked->mode == 4) {
    while (!loop->stopping(loop)) loop->push(loop, 0, 1.0);
    return 0;
  }
  if (asked->mode == 5) {
    const uint32_t one = 1;
    double last = loop->control(loop);
    for (uint32_t number = 1; loop->wait_all(loop, &one) > 0; ++number) {
      take(loop, 0, asked);
      loop->push(loop, 0, number);
      loop->push(loop, 1, number);
      if (loop->control(loop) < last || loop->control(loop) > number) asked->damaged += 1;
      last = loop->control(loop);
    }
    asked->answer = last > 0;
    return 0;
  }
  while ((asked->mode == 0 ? loop->wait_all : loop->wait_any)(loop, asked->counts) > 0) {
    for (uint32_t port = 0; port < loop->inputs; ++port) {
      if (loop->waiting(loop, port) < asked->counts[port]) continue;
      for (uint32_t i = 0; i < asked->counts[port]; ++i) take(loop, port, asked);
      if (asked->mode == 1) {
        for (uint32_t out = 0; out < loop->outputs; ++out) loop->push(loop, out, 1.0);
      }
    }
    if (asked->mode == 0) {
      for (uint32_t out = 0; out < loop->outputs; ++out) loop->push(loop, out, 1.0);
    }
  }
  return asked->answer;
}
