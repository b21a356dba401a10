// ready_ports.hpp - the input ports that wait for a scheduler thread, in the order in which they came, and the threads that wait for ports.
//
// P17's free list holds every port that nobody executes, and a thread walks it until it finds one with tuples. Here a port is on the
// list only while it has tuples (Port::ready says so), so the next port is the first one, and idle threads can sleep until there is one.
//
// No lost wake-up. push() links the port, then looks for sleepers; a sleeper announces itself, then looks for ports. All four are
// seq_cst, so in their one order either the push comes first and the sleeper sees the port, or the announcement does and push() sees the sleeper.
// Edges  those of free_list.hpp; the mutex closes the gap between a sleeper's last look and its sleep.
// Checked by: tests/native/stress_ready_ports.cpp
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "free_list.hpp"

namespace millrace {

class ReadyPorts {
 public:
  static constexpr uint32_t NONE = FreeList::NONE;

  explicit ReadyPorts(uint32_t ports) : list_(ports) {}

  // Only for a port that is not on the list. Does not wake anybody.
  void push(uint32_t port) noexcept { list_.push(port); }
  uint32_t pop() noexcept { return list_.pop(); }
  bool empty() const noexcept { return list_.empty(); }

  // After push(): wakes a sleeper, if there is one and there still is a port.
  void wake_one() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) == 0 || list_.empty()) return;
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_one();
  }

  // Sleeps until there is a port or one of the flags is set; the flags' writer calls wake_all() after it.
  void sleep(const std::atomic<bool>& stop, const std::atomic<uint64_t>& suspended) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    {
      std::unique_lock lock(mutex_);
      while (list_.empty() && !stop.load(std::memory_order_seq_cst) && suspended.load(std::memory_order_seq_cst) == 0) wake_.wait(lock);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  }

  void wake_all() noexcept {
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }

 private:
  FreeList list_;
  alignas(CACHE_LINE) std::atomic<uint32_t> sleepers_{0};  // read by every push, written only where nobody is in a hurry
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace millrace
