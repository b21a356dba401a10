// pinned.hpp - threads that begin together, each on a CPU that it was told.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>

#include "thread.hpp"

namespace millrace {

inline constexpr int MOST_PINNED = 1024;  // threads of one probe

// 0, or the error of sched_setaffinity. The calling thread alone; threads that it starts later
// begin where it is.
inline int pin(int cpu) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 ? 0 : errno;
}

// The calling thread may run on any of the CPUs again.
inline void unpin(const int* cpus, int count) noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int i = 0; i < count; ++i) CPU_SET(cpus[i], &all);
  sched_setaffinity(0, sizeof all, &all);  // which was allowed for each of them
}

// Where `count` threads wait for each other. They may share a CPU, so a waiting one lets others run
// now and then.
class Meeting {
 public:
  explicit Meeting(int count) noexcept : count_(count) {}
  void arrive() noexcept {
    const int round = round_.load(std::memory_order_acquire);
    come(1);
    for (int look = 1; round_.load(std::memory_order_acquire) == round; ++look) {  // MEET
      if (look % 256 == 0)
        yield_thread();
      else
        pause_core();
    }
  }
  void come(int threads) noexcept {  // without waiting: for threads that could not be started
    if (arrived_.fetch_add(threads, std::memory_order_acq_rel) + threads < count_) return;
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(
        1, std::memory_order_acq_rel);  // MEET: what was before it is seen by all behind it
  }

 private:
  const int count_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> round_{0};
};

// Runs body(0), body(1), ... at the same time, the i-th on cpus[i], and returns when all are done:
// 0, or an error of the system, and then no body was run.
template <class Body>
int together(const int* cpus, int count, Body body) noexcept {
  struct Seat {
    Body* body;
    Meeting* start;
    std::atomic<int>* error;
    int cpu, index;
    pthread_t thread;
  };
  if (count < 1 || count > MOST_PINNED) return EINVAL;
  Seat seats[MOST_PINNED];
  Meeting start(count);
  std::atomic<int> error{0};
  const auto run = [](void* argument) -> void* {
    Seat* seat = static_cast<Seat*>(argument);
    if (const int refused = pin(seat->cpu)) seat->error->store(refused, std::memory_order_relaxed);
    seat->start->arrive();
    if (seat->error->load(std::memory_order_relaxed) == 0) (*seat->body)(seat->index);
    return nullptr;
  };
  int started = 0;
  for (; started < count; ++started) {
    seats[started] = Seat{&body, &start, &error, cpus[started], started, {}};
    if (const int refused = pthread_create(&seats[started].thread, nullptr, run, &seats[started])) {
      error.store(refused, std::memory_order_relaxed);
      start.come(count - started);
      break;
    }
  }
  for (int i = 0; i < started; ++i) pthread_join(seats[i].thread, nullptr);
  return error.load(std::memory_order_relaxed);
}

}  // namespace millrace
