// coroutine_steps.hpp - what the scheduler of co-routines (coroutines.hpp) takes for its steps, on
// one thread with all lines in its cache.
#pragma once

#include <cstdint>
#include <vector>

#include "coroutines.hpp"
#include "real_platform.hpp"
#include "spsc_ring.hpp"
#include "tuple.hpp"

namespace millrace {

// ns of a switch from one fibre to another.
inline double switch_ns(uint32_t times) {
  struct Pair {
    Fibre own, other;
  } pair;
  Stacks stacks;
  if (!stacks.reserve(1, 16384)) return 0.0;
  const auto body = [](void* argument, void*) {
    Pair& both = *static_cast<Pair*>(argument);
    both.other.arrived();
    for (;;) both.other.switch_to(both.own, nullptr);
  };
  pair.own.adopt_thread();
  pair.other.begin(stacks.stack(0), stacks.bytes(), body, &pair);
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < times; ++i) pair.own.switch_to(pair.other, nullptr);
  return static_cast<double>(now_ns() - begin) / (2.0 * times);
}

// ns of a full fence and a look at a word behind it.
inline double fence_ns(uint32_t times) noexcept {
  RealPlatform platform;
  std::atomic<uint32_t> word{1};
  uint64_t sum = 0;
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < times; ++i) {
    platform.fence();
    sum += word.load(std::memory_order_acquire);
  }
  const int64_t end = now_ns();
  asm volatile("" : : "r"(sum));
  return static_cast<double>(end - begin) / times;
}

// Some co-routines, each with an input port that has a tuple, and an output port.
class CoroutineSteps {
 public:
  explicit CoroutineSteps(uint32_t count)
      : count_(count), memory_(2 * count * CAPACITY * CACHE_LINE), rings_(2 * count) {
    alignas(CACHE_LINE) char room[2 * CACHE_LINE]{};
    for (uint32_t i = 0; i < 2 * count; ++i) {
      rings_[i].init(memory_.data() + static_cast<size_t>(i) * CAPACITY * CACHE_LINE, CAPACITY,
                     CACHE_LINE);
      rings_[i].push(reinterpret_cast<Tuple*>(room), 1, CACHE_LINE, 0);
    }
  }

  // ns of a wait that is satisfied, a look at the clock included.
  double wait_ns(uint32_t times) { return run(POLICIES[0], INT64_MAX / 2, waiting, times); }
  // ns from one co-routine to the next by the policy of that index: ready, picked and resumed. Each
  // may run for no time at all.
  double turn_ns(uint32_t policy, uint32_t times) {
    return run(POLICIES[policy], 0, leaving, times);
  }
  // How often the policy looked at a co-routine in each turn of the last run.
  double looks() const noexcept {
    return static_cast<double>(looks_) / (static_cast<double>(times_) * count_);
  }

 private:
  static constexpr size_t CAPACITY = 8;
  struct Graph {
    CoroutineSteps& steps;
    uint64_t size(uint32_t port) const { return steps.rings_[port].size_guess(); }
    uint64_t room(uint32_t port) const { return CAPACITY - size(port); }
    bool closed(uint32_t) const { return false; }
    uint32_t reader(uint32_t port) const { return port / 2; }
    const std::vector<uint32_t>& writers(uint32_t) const { return steps.nobody_; }
    bool given(uint32_t) const { return true; }
    Seen seen(uint32_t index, int64_t scheduled_ns, uint32_t looks) const {
      ++steps.looks_;
      Seen seen{};
      seen.batch = 1;
      seen.queued = size(2 * index);
      seen.scheduled_ns = seen.enqueued_ns = seen.born_ns = scheduled_ns;
      if ((looks & BEHIND) != 0) {
        seen.queued_behind = size(2 * index + 1);
        seen.room = CAPACITY - seen.queued_behind;
      }
      return seen;
    }
    void refused(uint32_t) const {}
    void stuck() const {}
    void leaves(uint32_t) const {}
    void turn_begins(uint32_t, uint32_t, int64_t) const {}
    void turn_ends(uint32_t, uint32_t, int64_t, int64_t) const {}
    void rests(uint32_t, bool) const {}
    void wakes(uint32_t, bool) const {}
  };
  using All = Coroutines<RealPlatform, Graph>;

  static void waiting(All::Coroutine& self) {
    const CoroutineSteps& steps = *static_cast<CoroutineSteps*>(self.own);
    for (uint32_t i = 0; i < steps.times_; ++i) {
      self.need[0].store(1, std::memory_order_relaxed);
      self.all->wait(self, WaitMode::ANY);
    }
  }
  static void leaving(All::Coroutine& self) {
    const CoroutineSteps& steps = *static_cast<CoroutineSteps*>(self.own);
    for (uint32_t i = 0; i < steps.times_; ++i) self.all->check_for_preemption(self);
  }

  double run(const Policy& policy, int64_t quantum_ns, void (*body)(All::Coroutine&),
             uint32_t times) {
    Graph graph{*this};
    All all(graph, count_, 2 * count_, policy, quantum_ns);
    times_ = times;
    looks_ = 0;
    for (uint32_t i = 0; i < count_; ++i) {
      all[i].own = this;
      all[i].body = body;
      all[i].inputs = {2 * i};
    }
    if (!all.begin(16384)) return 0.0;
    All::Thread thread;
    const int64_t begin = now_ns();
    all.work(thread);
    return static_cast<double>(now_ns() - begin) / (static_cast<double>(times) * count_);
  }

  uint32_t count_, times_ = 0;
  uint64_t looks_ = 0;
  std::vector<char> memory_;
  std::vector<SpscRing> rings_;
  std::vector<uint32_t> nobody_;
};

}  // namespace millrace
