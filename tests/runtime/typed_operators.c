// Operators of tests/runtime/test_typed_operators.py. numbers -> scatter -> gather.
#include "millrace.h"

struct number {
  uint64_t n;
} __attribute__((aligned(8)));
struct pair {
  uint64_t n;
  uint32_t copy;
  uint8_t text[92];
} __attribute__((aligned(8)));
struct Numbers {
  uint64_t next, end;
};
struct Sums {
  uint64_t count[2], sum[2], ended;
};

int32_t numbers(millrace_context* context, void* state) {
  struct Numbers* own = state;
  if (own->next == own->end) return MILLRACE_END;
  struct number* out = millrace_room(context, 0);
  out->n = own->next++;
  millrace_send(context, 0);
  return MILLRACE_MORE;
}

// n % 5 copies, the odd ones by port 1; of each thousandth a burst that no queue holds
int32_t scatter(millrace_context* context, uint32_t port, const void* tuple, void* state) {
  const struct number* in = tuple;
  const uint32_t copies = in->n % 1000 == 7 ? 3000 : in->n % 5;
  for (uint32_t copy = 0; copy < copies; ++copy) {
    struct pair* out = millrace_room(context, copy % 2);
    out->n = in->n;
    out->copy = copy;
    millrace_send(context, copy % 2);
  }
  return in->n == 666666 ? -5 : 0;
}

int32_t at_end(millrace_context* context, void* state) {
  struct pair* out = millrace_room(context, 1);
  out->n = UINT32_MAX;
  out->copy = 1;
  millrace_send(context, 1);
  return 0;
}

int32_t gather(millrace_context* context, uint32_t port, const void* tuple, void* state) {
  const struct pair* in = tuple;
  struct Sums* sums = state;
  if (in->copy % 2 != port) return -22;
  sums->count[port] += 1;
  sums->sum[port] += in->n * (in->copy + 1);
  return 0;
}

int32_t gathered(millrace_context* context, void* state) {
  ((struct Sums*)state)->ended += 1;
  return 0;
}

// Breaks the tuple behind the one that it gets, in the sender's or the queue's slots.
int32_t harm(millrace_context* context, uint32_t port, const void* tuple, void* state) {
  const struct pair* in = tuple;
  if (in->n == 12 && in->copy == 0) ((struct pair*)(uintptr_t)((const char*)tuple + 192))->n += 1;
  return 0;
}
