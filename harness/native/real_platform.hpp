// real_platform.hpp - this machine as a platform: words, locks, a clock, fibres and sleep. Headers
// that synchronise threads take their platform as a parameter. The simulator has another one, with
// costs, and tests/native/explore.hpp has one that goes through the interleavings.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "fibre.hpp"
#include "futex.hpp"
#include "thread.hpp"

namespace millrace {

struct RealPlatform {
  template <class T>
  using Word = std::atomic<T>;
  template <class T>
  using RareWord = std::atomic<T>;  // used too seldom to cost anything on a described machine
  using Lock = std::mutex;
  using Fibre = millrace::Fibre;
  // Where threads sleep. A waiter holds the lock, and a thread that saw it wait has held it.
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
    void wake_all() noexcept { wake_.notify_all(); }

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

  // Sleeps if the word is still `seen`, until woken, or until `most_ns` have passed; may end
  // without a cause.
  static void sleep_on(Word<uint32_t>& word, uint32_t seen) noexcept { futex_sleep(word, seen); }
  static void sleep_on(Word<uint32_t>& word, uint32_t seen, int64_t most_ns) noexcept {
    const timespec most{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
    futex_sleep(word, seen, &most);
  }
  // Wakes one of those that sleep there. The word may be gone: then no thread sleeps there, or one
  // that looks again.
  static void wake_one_on(Word<uint32_t>& word) noexcept { futex_wake(word); }

#if defined(__SANITIZE_THREAD__)
  std::atomic<uint32_t> order_{0};
#endif
};

}  // namespace millrace
