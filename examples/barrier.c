// One tuple from each input port makes one: their sum (C-Stream, Listing 2).
#include "millrace.h"

int32_t barrier(millrace_loop* loop, void* state) {
  uint32_t counts[loop->inputs];
  for (uint32_t port = 0; port < loop->inputs; ++port) counts[port] = 1;
  while (loop->wait_all(loop, counts) > 0) {
    double sum = 0;
    millrace_tuple tuple;
    for (uint32_t port = 0; port < loop->inputs; ++port) {
      loop->pop(loop, port, &tuple);
      sum += tuple.value;
    }
    loop->push(loop, 0, sum);
  }
  return 0;
}
