// The operator with the longest input queue goes on next, but none that has less than half a batch; sources go on where nothing else can.
#include "millrace.h"

double long_queues(const millrace_ready* ready, void* state) {
  if (ready->source || 2 * ready->queued < ready->batch) return -1;
  return (double)ready->queued;
}
