// real_platform.hpp - what co-routines stand on (coroutines.hpp) on this machine: words, a lock, a clock, and sleep.
#pragma once

#include <atomic>
#include <chrono>
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
  // Where one thread sleeps. The lock is held by who waits, and was held by who saw it wait.
  class Signal {
   public:
    void wait(Lock& lock) {
      std::unique_lock held(lock, std::adopt_lock);
      wake_.wait(held);
      held.release();
    }
    void wait_until(Lock& lock, int64_t time_ns) {
      std::unique_lock held(lock, std::adopt_lock);
      wake_.wait_until(held,
                       std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_ns)));
      held.release();
    }
    void wake_one() noexcept { wake_.notify_one(); }

   private:
    std::condition_variable wake_;
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
