// try_flag.hpp - a flag that one thread at a time may hold and no thread waits for (P17 Figure 3:
// prodLocked, consLocked).
//
// Edge  HANDOVER  held_.store(release) in unlock() -> held_.exchange(acquire) in try_lock()
//                     what the holder did is seen by the next
//
// Deviation from P17: a plain load comes first, so that a thread that finds the flag taken does not
// steal its cache line.
// Checked by: tests/native/explore_ready.cpp in many interleavings;
// tests/native/stress_try_flag.cpp
#pragma once

#include <atomic>

#include "real_platform.hpp"

namespace millrace {

template <class Platform>
class BasicTryFlag {
 public:
  bool try_lock() noexcept {  // false = another thread holds it
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);  // HANDOVER
  }
  // True if a thread held it a moment ago.
  bool held() const noexcept { return held_.load(std::memory_order_acquire); }
  // Holder only.
  void unlock() noexcept { held_.store(false, std::memory_order_release); }  // HANDOVER

 private:
  typename Platform::template Word<bool> held_{false};
};
using TryFlag = BasicTryFlag<RealPlatform>;

}  // namespace millrace
