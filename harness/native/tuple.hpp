// tuple.hpp - what travels on a stream: a fixed header with the payload bytes right behind it.
//
// A tuple is never allocated on its own. It lives in a slot (of a ring, or of a source's buffer) of
// `stride` bytes, and is moved by copying the slot, so operators and queues need no allocation and
// no ownership (P17 s4.1.5: avoiding allocation beat sharing pointers).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "millrace.h"

namespace millrace {

enum Kind : uint32_t {
  DATA = 0,
  FINAL = 1,  // final punctuation: the last thing on its stream
  // window punctuation: between the tuple before it and the one after it; `sequence` is that of the
  // tuple after it
  WINDOW = 2,
};

struct Tuple {
  uint64_t sequence;  // 0, 1, 2, ... at its source
  int64_t born_ns;    // monotonic clock at the source; 0 on the tuples whose latency is not sampled
  double value;       // what work operators compute on
  uint32_t path : 24;  // which way through the graph it came; sinks check the order of each path
  uint32_t kind : 8;
  // its place among the tuples of the last split, modulo 2^32; what a merge restores
  uint32_t order;
};
static_assert(sizeof(Tuple) == 32, "a header of 32 bytes leaves 96 of payload in two cache lines");

inline constexpr size_t CACHE_LINE = 64;

// Slots are whole cache lines, so that a slot being filled and its neighbour being read never share
// one.
inline size_t slot_stride(size_t payload) noexcept {
  return (sizeof(Tuple) + payload + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

inline Tuple* slot(Tuple* first, size_t stride, size_t index) noexcept {
  return reinterpret_cast<Tuple*>(reinterpret_cast<char*>(first) + index * stride);
}

inline char* payload_of(Tuple* tuple) noexcept { return reinterpret_cast<char*>(tuple + 1); }

// -- the oracle's view of a tuple -----------------------------------------------------------------

// 2^64 / golden ratio: spreads consecutive numbers.
inline constexpr uint64_t GOLDEN = 0x9E3779B97F4A7C15;

inline double value_for(uint64_t sequence) noexcept {
  return 1.0 + static_cast<double>(sequence & 1023) / 1024.0;
}

// A number for each tuple such that the sum over a set tells the set: lost and doubled tuples do
// not cancel out.
inline uint64_t fingerprint(uint64_t sequence) noexcept {
  uint64_t mixed = (sequence + 1) * GOLDEN;
  mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93;  // the multiplier of degski's 64-bit mixer
  return mixed ^ (mixed >> 32);
}

inline void fill_payload(Tuple* tuple, size_t payload) noexcept {
  char* at = payload_of(tuple);
  const uint64_t base = tuple->sequence * GOLDEN;
  const size_t words = payload / 8;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = base + i;
    std::memcpy(at + 8 * i, &word, 8);
  }
  if (payload % 8 != 0) {
    const uint64_t rest = base + words;
    std::memcpy(at + 8 * words, &rest, payload % 8);
  }
}

// The key of a tuple, 0 .. keys - 1, and which of `ways` a key goes: two mixers, so that
// neighbouring keys do not go the same way.
inline uint64_t key_of(uint64_t sequence, uint64_t keys) noexcept {
  return millrace_key(sequence, keys);
}
inline uint32_t way_of(uint64_t key, uint32_t ways) noexcept {
  return static_cast<uint32_t>((fingerprint(key) >> 32) % ways);
}

// Looks at the first word, the last whole word, the bytes after it, and one word in between that
// changes from tuple to tuple: the cost is bounded, and a copy that is torn anywhere is found soon.
// `mixed` is the tuple's fingerprint.
inline bool payload_intact(Tuple* tuple, size_t payload, uint64_t mixed) noexcept {
  const char* at = payload_of(tuple);
  const uint64_t base = tuple->sequence * GOLDEN;
  const size_t words = payload / 8;
  if (words > 0) {
    const size_t probes[3] = {0, words - 1, static_cast<size_t>((mixed >> 32) * words >> 32)};
    for (const size_t i : probes) {
      uint64_t word;
      std::memcpy(&word, at + 8 * i, 8);
      if (word != base + i) return false;
    }
  }
  const uint64_t rest = base + words;
  return payload % 8 == 0 || std::memcmp(at + 8 * words, &rest, payload % 8) == 0;
}

}  // namespace millrace
