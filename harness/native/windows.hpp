// windows.hpp - how often things were counted lately: two windows of time that overlap by half, of
// which the older one is read.
//
// Each count is in both. Every half window the older one is emptied and becomes the younger, so a
// reader sees at least half a window, and never an empty one once there have been any counts. Time
// in which no thread counts, as when the machine stands still, is no reason to hurry: the next half
// window begins when the last one has ended, whenever that is seen.
//
// Edge  TURN  the mutex: a reader sees a window either before it was emptied or after it became the
//             younger one, which is not read
// Checked by: tests/native/explore_ready.cpp in many interleavings; tests/native/stress_windows.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "counter.hpp"

namespace millrace {

template <class Platform>
class BasicWindows {
  using Count = BasicCounter<Platform>;

 public:
  void init(size_t things, int64_t length_ns) {
    half_ns_ = length_ns / 2;
    for (std::vector<Count>& window : counts_) window = std::vector<Count>(things);
  }

  // Both by the one thread that counts.
  void count(size_t thing) noexcept {
    for (std::vector<Count>& window : counts_) window[thing].add(1);
  }
  void pass(int64_t now_ns) noexcept {
    if (now_ns < turns_at_) return;
    turns_at_ = now_ns + half_ns_;
    const std::lock_guard lock(turning_);  // TURN
    for (Count& count : counts_[older_]) count.add(-count.read());
    older_ = 1 - older_;
  }

  // Any thread: the counts of the older window.
  std::vector<uint64_t> read() {
    std::vector<uint64_t> counts;
    counts.reserve(counts_[0].size());
    const std::lock_guard lock(turning_);  // TURN
    for (const Count& count : counts_[older_]) counts.push_back(count.read());
    return counts;
  }

 private:
  std::vector<Count> counts_[2];
  typename Platform::Lock turning_;
  int older_ = 0;  // under the mutex
  int64_t half_ns_ = 0;
  int64_t turns_at_ = 0;
};
using Windows = BasicWindows<RealPlatform>;

}  // namespace millrace
