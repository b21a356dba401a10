// stopwatch.hpp - the time that a thread has spent in some state, which other threads may read.
//
// One word: the time so far [ns]. While the watch runs, it is that minus the time of its start,
// which is below 0 because the clock began before any thread. So a reader counts each interval
// once. Two words would need an order between them. Starting and stopping read the clock: that is
// cheap enough where a thread gives its CPU away, but not for each tuple.
#pragma once

#include <atomic>
#include <cstdint>

#include "thread.hpp"

namespace millrace {

class Stopwatch {
 public:
  void start() noexcept { add(-now_ns()); }  // owning thread only
  void stop() noexcept { add(now_ns()); }    // owning thread only
  int64_t read() const noexcept {            // any thread
    const int64_t so_far = ns_.load(std::memory_order_relaxed);
    return so_far < 0 ? so_far + now_ns() : so_far;
  }

 private:
  void add(int64_t ns) noexcept {
    ns_.store(ns_.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
  }
  std::atomic<int64_t> ns_{0};
};

}  // namespace millrace
