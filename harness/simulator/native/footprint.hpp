// footprint.hpp - how much of what a core has touched lately its own caches still hold.
//
// A cache that leaves out what was not used longest holds what was touched within the last
// `window()` bytes of touches: as many as reach that many distinct bytes. How many distinct bytes t
// bytes of touches reach follows from how long before each of them the same bytes were touched
// last: it is the sum over s up to t of the share of touches that go back further than s (Denning
// and Schwartz, CACM 15(3), 1972; Xiang, Ding, Luo and Bao, ASPLOS 2013). So a core that goes round
// a small ring keeps more of everything else than one that never sees a slot twice.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace millrace::sim {

// Which core used something last, and when, in bytes that the core had used by then.
struct Touch {
  uint32_t core = UINT32_MAX;  // nobody
  uint64_t at = 0;
};

class Footprint {
 public:
  static constexpr uint64_t NEVER_BEFORE = UINT64_MAX;

  explicit Footprint(uint64_t cache) noexcept : cache_(cache), window_(cache) {}

  // Bytes are touched that were touched last `ago` bytes of touches before.
  void touch(uint64_t bytes, uint64_t ago) noexcept {
    used_ += bytes;
    counts_[bin(ago)] += bytes;
    if ((seen_ += bytes) >= cache_) look();
  }
  uint64_t used() const noexcept { return used_; }  // bytes touched since the beginning
  // Bytes of touches within which what was touched is still there.
  uint64_t window() const noexcept { return window_; }

 private:
  static constexpr unsigned LEAST = 12, BINS = 128;  // four bins an octave from 4 KiB on

  static unsigned bin(uint64_t ago) noexcept {
    if (ago == NEVER_BEFORE) return BINS - 1;
    const uint64_t wide = std::max(ago, uint64_t{1} << LEAST);
    const unsigned octave = std::bit_width(wide) - 1;
    return std::min(4 * (octave - LEAST) + static_cast<unsigned>(wide >> (octave - 2) & 3),
                    BINS - 2);
  }
  static uint64_t end(unsigned bin) noexcept { return (5 + bin % 4) << (LEAST - 2 + bin / 4); }

  // Tell the window anew, once as much as the cache holds has been touched. What was before counts
  // half as much as it did.
  void look() noexcept {
    uint64_t all = 0;
    for (const uint64_t count : counts_) all += count;
    uint64_t further = all;
    double distinct = 0.0, begin = 0.0;
    window_ = NEVER_BEFORE;
    for (unsigned i = 0; i + 1 < BINS; ++i) {
      const double wide = static_cast<double>(end(i)) - begin;
      const double share = (static_cast<double>(further) - static_cast<double>(counts_[i]) / 2.0) /
                           static_cast<double>(all);
      if (distinct + wide * share >= static_cast<double>(cache_)) {
        window_ = static_cast<uint64_t>(begin + (static_cast<double>(cache_) - distinct) / share);
        break;
      }
      distinct += wide * share;
      begin += wide;
      further -= counts_[i];
    }
    for (uint64_t& count : counts_) count /= 2;
    seen_ = 0;
  }

  uint64_t cache_;
  uint64_t used_ = 0, seen_ = 0, window_;
  std::array<uint64_t, BINS> counts_{};
};

}  // namespace millrace::sim
