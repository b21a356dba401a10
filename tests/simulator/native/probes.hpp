// probes.hpp - the models of the machine and of the operating system by themselves: threads that
// compute, sleep and wake each other, and single lines and copies, without a graph. What a
// profile's tables say must come out again (tests/simulator/).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "control.hpp"

namespace millrace::sim {

enum Sort : uint32_t { FP, MIXED, WAITING };  // of time that a thread spends (machine.hpp)

class Bench {
 public:
  struct Probe : Thread {
    Time began = NEVER, ended = NEVER, done = 0,
         longest_gap = 0;  // `done`: of its work; `longest_gap`: between two of its steps
  };

  Bench(const Machine& machine, uint32_t count, uint64_t seed, uint32_t buckets)
      : threads(count), machine_(machine), system_(machine_, count, seed, buckets) {
    for (uint32_t i = 0; i < count; ++i) threads[i].id = i;
    system_.make_queue(queue_);
  }
  Bench(const Bench&) = delete;

  std::deque<Probe> threads;

  // Start a thread that works, in steps, in each of which it touches so many bytes of slots;
  void compute(uint32_t thread, Time work, Time step, Sort sort, uint64_t bytes) {
    system_.start(threads[thread],
                  [=, this] { computing(threads[thread], work, step, sort, bytes); });
  }
  // one that works, in one step, and then sleeps for a time;
  void nap(uint32_t thread, Time work, Time length) {
    system_.start(threads[thread], [=, this] { napping(threads[thread], work, length); });
  }
  // one that does the same until it is woken;
  void wait(uint32_t thread, Time work) {
    system_.start(threads[thread], [=, this] { waiting(threads[thread], work); });
  }
  // and one that keeps its CPU until a time and then wakes as many, and owes the time of some work
  // when it comes to each.
  void wake(uint32_t thread, Time at, uint32_t count, Time work) {
    system_.start(threads[thread], [=, this] { waking(threads[thread], at, count, work); });
  }

  void run(Time until) {
    system_.simulate([this, until]() -> Thread* {
      while (!system_.calendar.empty() && system_.calendar.next().time <= until) {
        const Calendar::Event event = system_.calendar.next();
        system_.now = event.time;
        ++events;
        if (event.process() == system_.balancer) {
          system_.balance();
        } else if (system_.act(threads[event.process()])) {
          return &threads[event.process()];
        }
      }
      return nullptr;
    });
    system_.now = until;
  }
  uint64_t events = 0;
  uint64_t switches() const noexcept { return system_.switches(); }
  Time cpu_time() noexcept { return system_.cpu_time(); }
  Time kernel_time() const noexcept { return system_.kernel_time(); }

 private:
  void computing(Probe& probe, Time work, Time step, Sort sort, uint64_t bytes) {
    probe.began = system_.now;
    while (probe.done < work) {
      (sort == FP      ? probe.fp
       : sort == MIXED ? probe.mixed
                       : probe.waiting) += std::min(step, work - probe.done);
      const Time before = system_.now;
      system_.caches[probe.core].touch(bytes, Footprint::NEVER_BEFORE);
      system_.pass(probe);
      probe.longest_gap = std::max(probe.longest_gap, system_.now - before);
      probe.done += std::min(step, work - probe.done);
    }
    probe.ended = system_.now;
  }
  void napping(Probe& probe, Time work, Time length) {
    probe.began = system_.now;
    probe.mixed += work;
    system_.pass(probe);
    system_.sleep(probe, system_.now + length);
    probe.ended = system_.now;
  }
  void waiting(Probe& probe, Time work) {
    probe.began = system_.now;
    probe.mixed += work;
    system_.pass(probe);
    system_.sleep_in(probe, queue_);
    probe.ended = system_.now;
  }
  void waking(Probe& probe, Time at, uint32_t count, Time work) {
    system_.spin(probe, at);
    probe.began = system_.now;
    for (uint32_t i = 0; i < count; ++i) {
      probe.mixed += work;
      system_.wake_one(probe, queue_);
      system_.pass(probe);
    }
    probe.ended = system_.now;
  }

  const Machine machine_;
  System system_;
  WaitQueue queue_;
};

// Who was at a tuple of a ring last, of `cores` that have touched nothing else.
inline Visit last_visit(const Visits& ring, uint32_t cores, uint64_t position, uint64_t filled) {
  return ring.since(position, std::vector<Footprint>(cores, Footprint(0)), filled);
}

// Time of a copy of `bytes` that core `writer` wrote, by core `reader`, to where core `worked` has
// worked, as the simulation charges it without waiting for the first line. `queued`, `room`: bytes
// touched since, by that core and by all; half of them were filled, the others read.
struct CopyProbe {
  static Time copy(const Machine& machine, uint32_t reader, uint32_t writer, uint32_t bytes,
                   uint64_t queued, uint64_t room, uint32_t worked) {
    Simulation simulation(machine, Software{}, 0, 1, 1, 1, 1);
    Worker& worker = simulation.workers[0];
    simulation.slot_bytes = bytes;
    simulation.ring_bytes = UINT64_MAX;
    worker.core = reader;
    simulation.came_from(worker, 1, {writer, queued, queued / 2});
    worker.waiting = 0;
    simulation.copy(worker, 1, {worked, room, room / 2});
    return worker.waiting;
  }
};

}  // namespace millrace::sim
