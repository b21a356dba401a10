// typed.hpp - operators on tuples with attributes: their rooms for what they send, and the check of
// what they get.
//
// A sender numbers the tuples of each of its output ports, 0, 1, 2, ..., and seals each: the hash
// of its content, its number and its port is in its header. A receiver sees for each stream that
// numbers come without a gap and that the seal is whole. So a tuple that is lost, doubled,
// overtaken, changed or sent the wrong way is found, however many tuples an operator makes of one
// (ORDER, ONCE).
#pragma once

#include <cstdint>
#include <cstring>

#include "histogram.hpp"
#include "millrace.h"
#include "state.hpp"
#include "tuple.hpp"

namespace millrace {

using ProcessFunction = int32_t (*)(millrace_context*, uint32_t port, const void* tuple,
                                    void* state);
using StepFunction = int32_t (*)(millrace_context*, void* state);

// A hash of the content of a slot of `stride` bytes: of all behind its header, which is 32 bytes
// and whole cache lines. Eight lanes in two vectors, so that a step is a few instructions for a
// cache line. Each step is one to one, and the sum is so in each of its lanes: whatever changes
// within one word changes the seal. So does any other change, but for about one in 2^64. The
// multipliers are those of MurmurHash3's and SplitMix64's mixers.
inline uint64_t seal_of(const char* content, size_t stride, uint64_t sequence,
                        uint64_t port_seed) noexcept {
  using Lanes = uint64_t __attribute__((vector_size(32)));
  constexpr uint64_t ODD = 0xD6E8FEB86659FD93;
  const auto step = [](Lanes& lanes, const char* at) {
    Lanes words;
    std::memcpy(&words, at, sizeof words);
    lanes = (lanes ^ words) * ODD;
    lanes ^= lanes >> 29;
  };
  Lanes lanes = {sequence ^ port_seed, GOLDEN, ~GOLDEN, ODD};
  Lanes others = {3 * GOLDEN, 5 * GOLDEN, 7 * GOLDEN, 9 * GOLDEN};
  step(lanes, content);
  const char* end = content + (stride - sizeof(Tuple));
  for (content += sizeof lanes; content < end; content += 2 * sizeof lanes) {
    step(lanes, content);
    step(others, content + sizeof lanes);
  }
  lanes *= Lanes{GOLDEN, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 0xBF58476D1CE4E5B9};
  lanes += others * Lanes{0x94D049BB133111EB, 0x87C37B91114253D5, 0x4CF5AD432745937F, ODD};
  uint64_t mixed = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  mixed = (mixed ^ (mixed >> 32)) * ODD;
  return mixed ^ (mixed >> 32);
}

inline uint64_t port_seed(uint32_t op, uint32_t output) noexcept {
  return fingerprint((static_cast<uint64_t>(op) << 32) | output);
}

struct Incoming {
  uint64_t next;  // number of the tuple that comes next
  uint64_t seed;  // of the output port that it comes from
  size_t stride;  // of its slots
  uint32_t port;  // the operator's, by which it comes
};

struct Outgoing {
  Tuple* slots;  // `most` of them
  uint64_t sent;
  uint64_t seed;
  size_t stride;
  uint32_t most;  // of its slots that are filled before they are sent on
  uint32_t filled;
};

// `context` is first: the runtime finds this by it.
struct TypedState {
  millrace_context context;
  Operator* op;
  Worker* worker;  // that executes it
  ProcessFunction process;
  StepFunction step;    // of a source
  StepFunction finish;  // null: nothing is done at the end
  void* state;
  void* python;         // its Python part; null if it is compiled
  SourceState* source;  // null: it is none
  Histogram* latency;   // of a sink; else null
  Incoming* incoming;   // by stream
  Outgoing* outgoing;   // by output port
  uint32_t outputs;
  bool begun;           // a source in Python has been called
  uint32_t batches;     // that a source has delivered
  int64_t born_ns;      // of the tuple that it works on
  uint64_t violations;  // tuples that were not the next of their stream
  uint64_t damaged;     // whose seal was broken
  std::atomic<int32_t>
      error;           // what its function returned when it failed; 0: it has not. Written last
  uint64_t failed_at;  // how many tuples it had executed
};

// Whether the tuple is whole and the next of its stream; it counts what is not.
inline Incoming& check(TypedState* state, Tuple* tuple) noexcept {
  Incoming& incoming = state->incoming[tuple->path];
  if (tuple->sequence != incoming.next) ++state->violations;
  incoming.next = tuple->sequence + 1;
  uint64_t seal;
  std::memcpy(&seal, &tuple->value, 8);
  if (seal != seal_of(payload_of(tuple), incoming.stride, tuple->sequence, incoming.seed))
    ++state->damaged;
  return incoming;
}

// The tuple in the room of `output` is complete; returns whether the port's slots are full.
inline bool enter(TypedState* state, uint32_t output, int64_t born_ns, uint32_t most) noexcept {
  Outgoing& out = state->outgoing[output];
  state->worker->collects = true;
  Tuple* tuple = slot(out.slots, out.stride, out.filled);
  tuple->sequence = out.sent++;
  tuple->born_ns = born_ns;
  tuple->path = 0;
  tuple->kind = DATA;
  tuple->order = 0;
  const uint64_t seal = seal_of(payload_of(tuple), out.stride, tuple->sequence, out.seed);
  std::memcpy(&tuple->value, &seal, 8);
  if (++out.filled >= most) return true;
  state->context.room[output] += out.stride;
  return false;
}

inline void rewind(TypedState* state, uint32_t output) noexcept {
  Outgoing& out = state->outgoing[output];
  out.filled = 0;
  state->context.room[output] = payload_of(out.slots);
}

}  // namespace millrace
