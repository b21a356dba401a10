// ready_ports.hpp - the input ports that wait for a scheduler thread, in the order in which they
// came, and the threads that wait for ports.
//
// P17's free list holds every port that no thread executes, and a thread walks it until it finds
// one with tuples. Here a port is on the list only while it has tuples (Port::ready says so), so
// the next port is the first one, and idle threads can sleep until there is one.
//
// No lost wake-up. push() links the port, then looks for sleepers; a sleeper announces itself, then
// looks for ports. All four are seq_cst, so in their one order either the push comes first and the
// sleeper sees the port, or the announcement does and push() sees the sleeper.
//
// One at a time. While a thread that was woken has not looked yet (waking_), no other is woken: it
// will look, and once it has a port it wakes the next, if there are more (dynamic.hpp). Else a
// hundred idle threads and the few that feed them spend their time at the lock of one mutex and one
// futex, each for a handful of tuples, and so no more ever come. The schedulers of Go and of Tokio
// hold back likewise. A producer that wakes no thread relies on that look: it linked its port, then
// saw waking_ true; the woken thread makes it false, then looks. All four are seq_cst, so the look
// comes last and sees the port. waking_ becomes true only under the mutex and while a thread waits,
// and every thread that leaves its wait makes it false: it is never true without a woken thread.
//
// Edges  those of free_list.hpp; the mutex closes the gap between a sleeper's last look and its
//        sleep.
// Checked by: tests/native/explore_ready.cpp in many interleavings;
// tests/native/stress_ready_ports.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "free_list.hpp"
#include "real_platform.hpp"

namespace millrace {

template <class Platform>
class BasicReadyPorts {
  template <class T>
  using Word = typename Platform::template Word<T>;

 public:
  static constexpr uint32_t NONE = BasicFreeList<Platform>::NONE;

  explicit BasicReadyPorts(uint32_t ports) : list_(ports) {}

  // Only for a port that is not on the list. Wakes no thread.
  void push(uint32_t port) noexcept { list_.push(port); }
  uint32_t pop() noexcept { return list_.pop(); }
  bool empty() const noexcept { return list_.empty(); }

  // After push(): wakes a sleeper, if there is one, there still is a port, and none has been woken
  // that has not looked yet.
  void wake_one() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) == 0 || waking_.load(std::memory_order_seq_cst) ||
        list_.empty())
      return;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_ == 0 || waking_.load(std::memory_order_relaxed))
        return;  // a thread that has announced itself and does not wait yet will look
      waking_.store(true, std::memory_order_seq_cst);
    }
    wake_.wake_one();
  }

  // Sleeps until there is a port or one of the flags is set; the flags' writer calls wake_all()
  // after it. A thread that then takes a port, or leaves ports to others, calls wake_one().
  void sleep(const Word<bool>& stop, const Word<uint64_t>& suspended) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    {
      const std::lock_guard lock(mutex_);
      while (list_.empty() && !stop.load(std::memory_order_seq_cst) &&
             suspended.load(std::memory_order_seq_cst) == 0) {
        ++waiting_;
        wake_.wait(mutex_);
        --waiting_;
        waking_.store(false, std::memory_order_seq_cst);
      }
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

  void wake_all() noexcept {
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.wake_all();
  }

 private:
  BasicFreeList<Platform> list_;
  // Read by every push, written only by threads without work
  alignas(CACHE_LINE) Word<uint32_t> sleepers_{0};
  Word<bool> waking_{false};  // written where a thread is woken
  typename Platform::Lock mutex_;
  uint32_t waiting_ = 0;  // under the mutex: sleepers that have looked and wait
  typename Platform::Signal wake_;
};
using ReadyPorts = BasicReadyPorts<RealPlatform>;

}  // namespace millrace
