// stopwatch.hpp - how long a thread has been in some state, told also while it still is.
//
// One word: the time so far [ns]; while the watch runs, that minus the moment when it was started,
// which is below 0 because the clock is older than any thread. So a reader sees each stretch of
// time once, which two words could not promise without an order between them. Starting and stopping
// read the clock: for where a thread is about to give its CPU away, not for the way of a tuple.
#pragma once

#include <atomic>
#include <cstdint>

#include "thread.hpp"

namespace millrace {

class Stopwatch {
 public:
  void start() noexcept { add(-now_ns()); }  // the one writer, as is
  void stop() noexcept { add(now_ns()); }
  int64_t read() const noexcept {  // anybody
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
