// virtual_platform.hpp - what co-routines of operators stand on (coroutines.hpp) in virtual time:
// words, a lock, a signal, a clock, fibres.
//
// The scheduler is the one that real threads execute. A thread that goes on with a co-routine
// becomes that co-routine's record (System::become), since its stack, and what operators keep on
// their way, belong to the co-routine and not to the thread that executes it now.
//
// What things cost: a fence, a switch, a look at the clock, and what a turn takes besides them,
// what the software's profile says; a lock an atomic operation, and waiting for it a sleep and a
// wake-up; a word that another core has written a transfer. Words beside a co-routine's state are
// in its line. The engine, which acts between two events, pays nothing and waits for nothing: a
// holder of the lock has then done all that it does under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "fibre.hpp"
#include "line_word.hpp"
#include "software.hpp"
#include "state.hpp"
#include "system.hpp"

namespace millrace::sim {

struct VirtualPlatform {
  // Used too seldom to cost anything
  template <class T>
  using RareWord = std::atomic<T>;

  // A word in the line of a co-routine's state, which its reader has looked at just before.
  class StateWord {
   public:
    StateWord() = default;
    StateWord(uint32_t value) noexcept : value_(value) {}  // NOLINT: as std::atomic
    uint32_t load(std::memory_order) const noexcept { return value_; }
    void store(uint32_t value, std::memory_order) noexcept { value_ = value; }
    void fetch_add(uint32_t value, std::memory_order) noexcept {
      if (const Acting& acting = *current(); acting.worker != nullptr)
        acting.worker->waiting += acting.machine.rmw_local;
      value_ += value;
    }
    void fetch_sub(uint32_t value, std::memory_order order) noexcept {
      fetch_add(0 - value, order);
    }

   private:
    uint32_t value_ = 0;
  };

  // A word with a line of its own, but for those.
  template <class T>
  using Word = std::conditional_t<std::is_same_v<T, uint32_t>, StateWord, LineWord<T>>;

  class Lock {
   public:
    Lock() { current()->system.make_queue(queue_); }
    void lock() {
      Acting& acting = *current();
      if (acting.worker == nullptr) return;
      Worker& w = *acting.worker;
      acting.system.pass(w);
      take_line(w);
      if (!held_) {
        held_ = true;
        return;
      }
      const uint32_t rest = w.rest;
      w.rest = BLOCKED;
      w.idle.start();
      do {
        acting.system.pass(w);
        if (!held_) break;
        acting.system.sleep_in(w, queue_);
        take_line(w);
        acting.system.pass(w);
      } while (held_);  // a thread that was awake came before: the lock is not fair
      held_ = true;
      w.idle.stop();
      w.rest = rest;
    }
    void unlock() {
      Acting& acting = *current();
      if (acting.worker == nullptr) return;
      Worker& w = *acting.worker;
      acting.system.pass(w);
      held_ = false;
      queue_.line.store(w.core);
      acting.system.wake_one(w, queue_);
    }

   private:
    void take_line(Worker& w) noexcept {
      Acting& acting = *current();
      w.waiting +=
          queue_.line.rmw(acting.machine, w.core, acting.system.now + acting.system.owed(w), true,
                          acting.most_contenders);
    }

    bool held_ = false;
    WaitQueue queue_;
  };

  // Where one thread sleeps. It begins to wait under the lock, so a later holder of that sees it.
  class Signal {
   public:
    Signal() { current()->system.make_queue(queue_); }
    void wait(Lock& lock) { wait_until(lock, NEVER); }
    void wait_until(Lock& lock, int64_t time_ns) {
      wait_until(lock, static_cast<Time>(time_ns) * NANOSECOND);
    }
    void wake_one() {
      Acting& acting = *current();
      ++wakes_;
      if (Worker* w = acting.worker; w != nullptr) {
        w->waiting +=
            queue_.line.rmw(acting.machine, w->core, acting.system.now + acting.system.owed(*w),
                            true, acting.most_contenders);
        acting.system.wake_one(*w, queue_);
      } else if (!queue_.sleepers.empty()) {
        Thread& sleeper = *queue_.sleepers.front();
        queue_.sleepers.clear();
        acting.system.wake(sleeper, sleeper.cpu);
      }
    }

   private:
    void wait_until(Lock& lock, Time until) {
      Acting& acting = *current();
      Worker& w = *acting.worker;
      const uint64_t wakes = wakes_;
      lock.unlock();
      acting.system.pass(w);
      if (wakes == wakes_) {
        acting.system.sleep_in(w, queue_, until);
        queue_.sleepers.clear();  // it was time
      }
      lock.lock();
    }

    uint64_t wakes_ = 0;  // so that a thread that is about to sleep sees that it was woken
    WaitQueue queue_;
  };

  // A co-routine's stack, or a thread's, and the record that goes with it.
  class Fibre {
   public:
    Worker* worker = nullptr;  // of a co-routine, to be set before begin()

    void begin(char* stack, size_t bytes, void (*body)(void*, void*), void* argument) noexcept {
      own_.begin(stack, bytes, body, argument);
      worker->stack = &own_;
    }
    void* switch_to(Fibre& to, void* value, bool ends = false) noexcept {
      Acting& acting = *current();
      Worker &from = *worker, &into = *to.worker;
      from.mixed += acting.software.coroutine_switch;
      if (into.coroutine != Worker::NO_COROUTINE) from.mixed += acting.software.coroutine_turn;
      if (acting.time_use.on)
        acting.time_use.spend(from, from.at, acting.system.now + acting.system.owed(from));
      acting.system.become(from, into);
      acting.bearers[into.id] = &into;
      acting.worker = &into;
      return from.stack->switch_to(*into.stack, value, ends);
    }
    void arrived() noexcept { own_.arrived(); }
    void adopt_thread() noexcept { worker = current()->worker; }

   private:
    millrace::Fibre own_;
  };

  void fence() noexcept {
    if (const Acting& acting = *current(); acting.worker != nullptr)
      acting.worker->mixed += acting.software.fence;
  }
  int64_t now() const noexcept {
    const Acting& acting = *current();
    acting.worker->mixed += acting.software.clock;
    return static_cast<int64_t>((acting.system.now + acting.system.owed(*acting.worker)) /
                                NANOSECOND);
  }
};

}  // namespace millrace::sim
