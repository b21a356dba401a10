// real_platform.hpp - what co-routines stand on (coroutines.hpp) on this machine: words, a lock, a clock, and sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "fibre.hpp"
#include "thread.hpp"

namespace millrace {

struct RealPlatform {
  template <class T>
  using Word = std::atomic<T>;
  using Lock = std::mutex;
  using Fibre = millrace::Fibre;
  class Signal {
   public:
    void wait(Lock& lock) {
      sleepers_.fetch_add(1, std::memory_order_relaxed);  // under the lock, as is what the sleeper waits for
      wake_.wait(lock);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
    // After the lock was given back: whoever waits has counted itself before that.
    void wake_one() noexcept {
      if (sleepers_.load(std::memory_order_relaxed) > 0) wake_.notify_one();
    }
    void wake_all() noexcept { wake_.notify_all(); }

   private:
    std::atomic<uint32_t> sleepers_{0};
    std::condition_variable_any wake_;
  };
  void fence() noexcept {
#if defined(__SANITIZE_THREAD__)
    order_.fetch_add(0, std::memory_order_seq_cst);  // it does not know fences
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  int64_t now() const noexcept { return now_ns(); }

#if defined(__SANITIZE_THREAD__)
  std::atomic<uint32_t> order_{0};
#endif
};

}  // namespace millrace
