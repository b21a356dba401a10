// Loops on typed streams, for tests. Two streams of numbers, joined by their turn.
#include "millrace.h"

struct number {
  uint64_t n;
} __attribute__((aligned(8)));
struct pair {
  uint64_t left, right;
  struct { uint32_t length; char text[12]; } text;
} __attribute__((aligned(8)));
struct Ways {
  uint32_t mode;  // 0: joins pairs, 1: pushes by value, 2: sends by a port that is not there, 3: changes one that is sent
  int32_t answer;
};

int32_t join(millrace_loop* loop, void* state) {
  struct Ways* ways = state;
  const uint32_t counts[2] = {1, 1};
  if (ways->mode == 1) {
    ways->answer = loop->push(loop, 0, 1.0);
    return 0;
  }
  if (ways->mode == 2) {
    millrace_send(loop->context, 1);
    return 0;
  }
  while (loop->wait_all(loop, counts) > 0) {
    millrace_tuple tuple;
    struct pair* out = millrace_room(loop->context, 0);
    loop->pop(loop, 0, &tuple);
    if (tuple.value != 0 || loop->payload_bytes != 0) return -2;
    out->left = ((const struct number*)tuple.payload)->n;
    loop->pop(loop, 1, &tuple);
    out->right = ((const struct number*)tuple.payload)->n;
    out->text.length = out->left % 13;
    for (uint32_t i = 0; i < out->text.length; ++i) out->text.text[i] = 'a';
    millrace_send(loop->context, 0);
    if (ways->mode == 3 && out->left == 100) out->right += 1;
  }
  return 0;
}
