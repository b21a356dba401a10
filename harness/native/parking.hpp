// parking.hpp - where a thread sleeps until another changes an atomic word, without CPU time and
// without lost wake-ups (ASLEEP).
//
//   waiter     puts itself on the list, and so adds itself to waiters_, then looks at the word once
//              more, then sleeps until it is called
//   notifier   changes the word, then adds 0 to waiters_ and looks at what it was; not 0 -> takes
//              the first one off the list and calls it
//
// Edge  ANNOUNCE  waiters_.fetch_add on one side -> waiters_.fetch_add on the other
// Edge  CALLED    Waiter::called.store, release -> Waiter::called.load, acquire
// Both sides change waiters_, so one of the two comes first, and the later one sees what the
// earlier thread did before: either the waiter sees the new word and does not sleep, or the
// notifier sees the waiter. Adding 0 orders the word's change (a release store elsewhere) before
// the look. A waiter that has been called is off the list, and counted no more: the next notifier
// calls the next one, if there is one.
//
// Not a condition variable: there a woken thread takes a mutex before it goes on. Those that find
// it taken sleep once more, each until the one before it has had a CPU and given the mutex back,
// while the queue that they wait for is empty. Here only a thread that is about to sleep takes it.
// Checked by: tests/native/explore_ready.cpp in many interleavings; tests/native/stress_parking.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "real_platform.hpp"

namespace millrace {

template <class Platform>
class BasicParking {
  template <class T>
  using Word = typename Platform::template Word<T>;
  using Called = Word<uint32_t>;

 public:
  // Sleeps while `word` is still `seen` and `stop` is not set.
  void sleep_while(const Word<uint64_t>& word, uint64_t seen, const Word<bool>& stop) noexcept {
    const auto waits = [&] {
      return word.load(std::memory_order_seq_cst) == seen && !stop.load(std::memory_order_seq_cst);
    };
    do {
      Waiter self;
      announce(self);
      if (!waits()) return withdraw(self);
      while (self.called.load(std::memory_order_acquire) == 0)
        Platform::sleep_on(self.called, 0);  // CALLED
    } while (waits());
  }

  // Sleeps until woken, `stop` is set, or `most_ns` have passed.
  void sleep_for(int64_t most_ns, const Word<bool>& stop) noexcept {
    Waiter self;
    announce(self);
    if (!stop.load(std::memory_order_seq_cst)) Platform::sleep_on(self.called, 0, most_ns);
    if (self.called.load(std::memory_order_acquire) == 0) withdraw(self);  // CALLED
  }

  // After the word was changed. Wakes one waiter, if there is any.
  void wake_one() noexcept {
    if (!somebody()) return;
    Called* called;
    {
      const std::lock_guard lock(mutex_);
      called = call_first();
    }
    if (called != nullptr) Platform::wake_one_on(*called);  // which may be gone
  }

  // After the word or a stop flag was changed. Wakes all waiters.
  void wake_all() noexcept {
    if (!somebody()) return;
    const std::lock_guard lock(mutex_);
    while (Called* called = call_first()) Platform::wake_one_on(*called);
  }

  // True if a thread seems to sleep here. A guess without any order, which may be wrong either way:
  // for wake-ups that may be missed.
  bool somebody_guess() const noexcept { return waiters_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Link {
    Link *next = this, *previous = this;
  };
  struct Waiter : Link {  // on the stack of the thread that waits
    Called called{0};     // set with the mutex held, and then nothing of it is touched any more
  };

  bool somebody() noexcept {
    return waiters_.fetch_add(0, std::memory_order_seq_cst) != 0;  // ANNOUNCE
  }

  void announce(Waiter& self) noexcept {
    const std::lock_guard lock(mutex_);
    self.previous = waiting_.previous;
    self.next = &waiting_;
    self.previous->next = self.next->previous = &self;
    waiters_.fetch_add(1, std::memory_order_seq_cst);  // ANNOUNCE
  }
  void withdraw(Waiter& self) noexcept {
    const std::lock_guard lock(mutex_);
    if (self.called.load(std::memory_order_relaxed) == 0) remove(self);
  }
  Called* call_first() noexcept {
    if (waiting_.next == &waiting_) return nullptr;
    Waiter& first = static_cast<Waiter&>(*waiting_.next);
    remove(first);
    Called* called = &first.called;
    called->store(1, std::memory_order_release);  // CALLED
    return called;
  }
  void remove(Link& link) noexcept {
    link.previous->next = link.next;
    link.next->previous = link.previous;
    waiters_.fetch_sub(1, std::memory_order_relaxed);
  }

  Word<uint32_t> waiters_{0};
  typename Platform::Lock mutex_;
  Link waiting_;  // the first one is the next
};
using Parking = BasicParking<RealPlatform>;

}  // namespace millrace
