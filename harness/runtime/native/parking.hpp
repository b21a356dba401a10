// parking.hpp - where a thread sleeps until another changes an atomic word, without CPU time and without lost wake-ups (ASLEEP).
//
//   waiter     adds itself to waiters_, then looks at the word once more, then sleeps
//   notifier   changes the word, then adds 0 to waiters_ and looks at what it was; not 0 -> wakes
//
// Edge  ANNOUNCE  waiters_.fetch_add on one side -> waiters_.fetch_add on the other
// Both change one word, so one of the two comes first, and the later one sees what the earlier thread did before: either the waiter sees the
// new word and does not sleep, or the notifier sees the waiter. Adding 0 orders the word's change (a release store elsewhere) before the look.
// The mutex closes the gap between the waiter's last look and its sleep.
// Checked by: tests/native/stress_parking.cpp
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace millrace {

class Parking {
 public:
  // Sleeps while `word` is still `seen` and `stop` is not set.
  void sleep_while(const std::atomic<uint64_t>& word, uint64_t seen, const std::atomic<bool>& stop) noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);  // ANNOUNCE
    {
      std::unique_lock lock(mutex_);
      while (word.load(std::memory_order_seq_cst) == seen && !stop.load(std::memory_order_seq_cst)) wake_.wait(lock);
    }
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
  }

  // Sleeps until woken, `stop` is set, or `most_ns` have passed.
  void sleep_for(int64_t most_ns, const std::atomic<bool>& stop) noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);  // ANNOUNCE
    {
      std::unique_lock lock(mutex_);
      if (!stop.load(std::memory_order_seq_cst)) wake_.wait_until(lock, Clock::now() + std::chrono::nanoseconds(most_ns));
    }
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
  }

  // After the word was changed. Wakes one waiter, if there is any.
  void wake_one() noexcept {
    if (waiters_.fetch_add(0, std::memory_order_seq_cst) == 0) return;  // ANNOUNCE
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_one();
  }

  // After the word or a stop flag was changed. Wakes all waiters.
  void wake_all() noexcept {
    if (waiters_.fetch_add(0, std::memory_order_seq_cst) == 0) return;  // ANNOUNCE
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }

  // Whether somebody sleeps here, as far as this thread can tell without ordering anything: for wake-ups that may be missed.
  bool somebody_guess() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
#if defined(__SANITIZE_THREAD__)
  using Clock = std::chrono::system_clock;  // the timed wait on the steady clock is a call that the ThreadSanitizer of gcc 12 does not know
#else
  using Clock = std::chrono::steady_clock;
#endif
  std::atomic<uint32_t> waiters_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace millrace
