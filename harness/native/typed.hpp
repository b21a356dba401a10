// typed.hpp - operators on tuples with attributes: their rooms for what they send, and the check of
// what they get.
//
// A sender numbers the tuples of each of its output ports, 0, 1, 2, ..., and seals each: the hash
// of its content, its number and its port is in its header. A receiver sees for each stream that
// numbers come without a gap and that the seal is whole. So a tuple that is lost, doubled,
// overtaken, changed or sent the wrong way is found, however many tuples an operator makes of one
// (ORDER, ONCE).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "histogram.hpp"
#include "millrace.h"
#include "state.hpp"
#include "tuple.hpp"

namespace millrace {

using ProcessFunction = int32_t (*)(millrace_context*, uint32_t port, const void* tuple,
                                    void* state);
using StepFunction = int32_t (*)(millrace_context*, void* state);
using PredicateFunction = int32_t (*)(const void* tuple, void* state);

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

// The answer of an operator that has promised to send one tuple for each, and has not.
inline constexpr int32_t NOT_ONE_FOR_ONE = std::numeric_limits<int32_t>::min();

struct Incoming {
  uint64_t next;  // number of the tuple that comes next
  uint64_t seed;  // of the output port that it comes from
  size_t stride;  // of its slots
  uint32_t port;  // the operator's, by which it comes
};

struct Outgoing {
  Tuple* slots;      // `most` of them
  uint64_t sent;     // those in slots among them, if they are numbered already
  uint64_t entered;  // written into slots; not counted at sources and plain operators
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
  // if it may have replicas: that of its own co-routine, which numbers and seals what all of them
  // send, when it is sent; else null
  TypedState* first;
  const KeyAttribute* by;  // of its key; none: it is not by key
  uint32_t key_count;
  bool begun;           // a source in Python has been called
  uint32_t batches;     // that a source has delivered
  int64_t born_ns;      // of the tuple that it works on
  uint32_t order;       // of that tuple, between a split and its merge
  uint64_t violations;  // tuples that were not the next of their stream
  uint64_t damaged;     // whose seal was broken
  // what its function returned when it failed; 0: it has not. Written last
  std::atomic<int32_t> error;
  uint64_t failed_at;  // how many tuples it had executed
};

// A filter's function, and the content of its tuples: it passes on those that the function accepts.
struct Sieve {
  PredicateFunction accepts;
  void* state;
  size_t bytes;
};
inline int32_t pass_accepted(millrace_context* context, uint32_t, const void* tuple,
                             void* sieve) noexcept {
  const Sieve& own = *static_cast<const Sieve*>(sieve);
  const int32_t answer = own.accepts(tuple, own.state);
  if (answer <= 0) return answer;
  std::memcpy(context->room[0], tuple, own.bytes);
  context->send(context, 0);
  return 0;
}

// A hash of a typed tuple's key. Equal values have the same: so do 0.0 and -0.0, and all NaN.
inline uint64_t key_hash(const TypedState& state, const char* content) noexcept {
  uint64_t hash = 0;
  const auto mix = [&](const char* at, size_t bytes) {
    for (; bytes > 0; bytes -= std::min<size_t>(bytes, 8)) {
      uint64_t word = 0;
      std::memcpy(&word, at, std::min<size_t>(bytes, 8));
      hash = fingerprint(hash ^ word);
      at += std::min<size_t>(bytes, 8);
    }
  };
  const auto mix_number = [&](auto number) {
    if (number != number) number = std::numeric_limits<decltype(number)>::quiet_NaN();
    if (number == 0) number = 0;
    mix(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (uint32_t i = 0; i < state.key_count; ++i) {
    const KeyAttribute& key = state.by[i];
    const char* at = content + key.offset;
    if (key.kind == KeyAttribute::TEXT) {
      uint32_t length;
      std::memcpy(&length, at, 4);
      mix(at, 4);
      mix(at + 4, std::min(length, key.bytes));
    } else if (key.kind == KeyAttribute::FLOAT) {
      float number;
      std::memcpy(&number, at, sizeof number);
      mix_number(number);
    } else if (key.kind == KeyAttribute::DOUBLE) {
      double number;
      std::memcpy(&number, at, sizeof number);
      mix_number(number);
    } else {
      mix(at, key.bytes);
    }
  }
  return hash;
}

// Whether the tuple is the next of its stream; it counts what is not.
inline void check_next(TypedState* state, const Tuple* tuple) noexcept {
  Incoming& incoming = state->incoming[tuple->path];
  if (tuple->sequence != incoming.next) ++state->violations;
  incoming.next = tuple->sequence + 1;
}

// Whether the tuple is whole.
inline const Incoming& check_seal(TypedState* state, Tuple* tuple) noexcept {
  const Incoming& incoming = state->incoming[tuple->path];
  uint64_t seal;
  std::memcpy(&seal, &tuple->value, 8);
  if (seal != seal_of(payload_of(tuple), incoming.stride, tuple->sequence, incoming.seed))
    ++state->damaged;
  return incoming;
}

// Both. Where there may be replicas, tuples are the next of their stream when they are taken from
// the port (Crew::release).
template <bool PLAIN = false>
inline const Incoming& check(TypedState* state, Tuple* tuple) noexcept {
  if (PLAIN || state->first == nullptr) check_next(state, tuple);
  return check_seal(state, tuple);
}

// Numbers a tuple that is sent, and seals it.
inline void number(Outgoing& out, Tuple* tuple) noexcept {
  tuple->sequence = out.sent++;
  const uint64_t seal = seal_of(payload_of(tuple), out.stride, tuple->sequence, out.seed);
  std::memcpy(&tuple->value, &seal, 8);
}

// The tuple in the room of `output` is complete; returns whether the port's slots are full.
// `PLAIN`: of a source or a plain operator (typed_path.hpp).
template <bool PLAIN = false>
inline bool enter(TypedState* state, uint32_t output, int64_t born_ns, uint32_t most) noexcept {
  Outgoing& out = state->outgoing[output];
  state->worker->collects = true;
  Tuple* tuple = slot(out.slots, out.stride, out.filled);
  if constexpr (!PLAIN) ++out.entered;
  tuple->born_ns = born_ns;
  tuple->path = 0;
  tuple->kind = DATA;
  tuple->order = PLAIN ? 0 : state->order;
  if (PLAIN || state->first == nullptr) number(out, tuple);
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
