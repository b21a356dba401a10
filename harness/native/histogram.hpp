// histogram.hpp - counts of durations in buckets that are at most 1/16 wide (6.25 %), from 1 ns to
// 18 minutes; one writer, any readers.
//
// Bucket b < 16 holds b ns exactly; above, each power of two is cut into 16 equal parts (the layout
// of HdrHistogram with 4 bits).
#pragma once

#include <bit>
#include <cstdint>

#include "counter.hpp"

namespace millrace {

class Histogram {
 public:
  static constexpr int PARTS_LOG2 = 4;
  static constexpr int PARTS = 1 << PARTS_LOG2;
  static constexpr int BUCKETS = PARTS * 37;

  static int bucket_of(uint64_t ns) noexcept {
    if (ns < PARTS) return static_cast<int>(ns);
    // number of times that `ns` can be halved and still need PARTS_LOG2 + 1 bits
    const int octave = 63 - std::countl_zero(ns) - PARTS_LOG2;
    const int bucket = (octave + 1) * PARTS + static_cast<int>((ns >> octave) - PARTS);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
  }
  // The longest duration that a bucket holds [ns].
  static uint64_t upper_bound(int bucket) noexcept {
    if (bucket < PARTS) return static_cast<uint64_t>(bucket);
    const int octave = bucket / PARTS - 1;
    return ((static_cast<uint64_t>(bucket % PARTS) + PARTS + 1) << octave) - 1;
  }

  void record(int64_t ns) noexcept {  // the one writer
    const uint64_t duration = ns > 0 ? static_cast<uint64_t>(ns) : 0;
    counts_[bucket_of(duration)].add(1);
    if (duration > longest_.read()) longest_.add(duration - longest_.read());
  }
  void add_to(uint64_t* counts) const noexcept {  // of all buckets
    for (int bucket = 0; bucket < BUCKETS; ++bucket) counts[bucket] += counts_[bucket].read();
  }
  uint64_t longest() const noexcept { return longest_.read(); }

 private:
  Counter counts_[BUCKETS];
  Counter longest_;
};

}  // namespace millrace
