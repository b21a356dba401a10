// futexes.hpp - what the operating system takes to put a thread to sleep, to wake it, and to switch between two.
//
// Threads that share a CPU here, but for the last two probes, are of the batch kind (SCHED_BATCH): one that is woken does not push the waker off its CPU, so that the
// waker's part and the switch can be told apart.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pinned.hpp"
#include "thread.hpp"

namespace millrace {

using Futex = std::atomic<uint32_t>;

inline void futex_sleep(Futex& word, uint32_t seen) noexcept { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0); }
inline long futex_wake(Futex& word) noexcept { return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

inline void be_of_the_batch_kind() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

inline void busy_wait(int64_t ns) noexcept {
  for (const int64_t end = now_ns() + ns; now_ns() < end;) pause_core();
}

// -- calls that nobody answers: ns ----------------------------------------------------------------------------------------------------

inline double wake_nobody_ns(uint32_t calls) noexcept {
  Futex word{0};
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) futex_wake(word);
  return static_cast<double>(now_ns() - begin) / calls;
}

inline double yield_ns(uint32_t calls) noexcept {
  const int64_t begin = now_ns();
  for (uint32_t i = 0; i < calls; ++i) sched_yield();
  return static_cast<double>(now_ns() - begin) / calls;
}

// How much later a sleep of `ns` ends for the slack that the system gives the timers of an ordinary thread.
inline double timer_slack_ns(uint32_t sleeps, int64_t ns) noexcept {
  const auto late = [&](unsigned long slack) {
    prctl(PR_SET_TIMERSLACK, slack);
    std::vector<int64_t> times;
    for (uint32_t i = 0; i < sleeps; ++i) {
      const timespec nap{0, ns};
      const int64_t begin = now_ns();
      nanosleep(&nap, nullptr);
      times.push_back(now_ns() - begin - ns);
    }
    std::nth_element(times.begin(), times.begin() + sleeps / 2, times.end());
    return static_cast<double>(times[sleeps / 2]);
  };
  const double sharp = late(1);
  return late(0) - sharp;  // 0: the default again
}

// -- threads on one CPU -----------------------------------------------------------------------------------------------------------

// ns from one of so many threads to the next: each wakes the next one and goes to sleep. A wake, a sleep and a switch.
inline double hand_over_ns(int cpu, int threads, uint32_t rounds) noexcept {
  struct alignas(128) Turn {
    Futex rounds{0};
  };
  const std::vector<int> seats(static_cast<size_t>(threads), cpu);
  const std::unique_ptr<Turn[]> turns(new Turn[static_cast<size_t>(threads)]);
  turns[0].rounds.store(1, std::memory_order_relaxed);
  double ns = 0.0;
  const int error = together(seats.data(), threads, [&](int i) {
    be_of_the_batch_kind();
    Futex& mine = turns[static_cast<size_t>(i)].rounds;
    Futex& next = turns[static_cast<size_t>((i + 1) % threads)].rounds;
    const int64_t begin = now_ns();
    for (uint32_t round = 1; round <= rounds; ++round) {
      while (mine.load(std::memory_order_acquire) != round) futex_sleep(mine, round - 1);
      next.store(i + 1 == threads ? round + 1 : round, std::memory_order_release);
      futex_wake(next);
    }
    if (i == 0) ns = static_cast<double>(now_ns() - begin) / (static_cast<double>(threads) * rounds);
  });
  return error == 0 ? ns : -error;
}

struct Switching {
  double call_ns;          // two threads that yield to each other: a call, with the switch that it may be
  double switches_a_call;  // how often it was one
};

inline Switching yield_switch_ns(int cpu, uint32_t calls) noexcept {
  const int both[2] = {cpu, cpu};
  int64_t begin[2], end[2];
  long switches[2];
  const int error = together(both, 2, [&](int i) {
    be_of_the_batch_kind();
    const auto count = [] {
      rusage use;
      getrusage(RUSAGE_THREAD, &use);
      return use.ru_nvcsw + use.ru_nivcsw;
    };
    const long before = count();
    begin[i] = now_ns();
    for (uint32_t call = 0; call < calls; ++call) sched_yield();
    end[i] = now_ns();
    switches[i] = count() - before;
  });
  if (error != 0) return {-static_cast<double>(error), 0.0};
  const double ns = static_cast<double>(std::max(end[0], end[1]) - std::min(begin[0], begin[1]));
  const double happened = static_cast<double>(switches[0] + switches[1]);
  return {ns / (2.0 * calls), happened / (2.0 * calls)};
}

// -- a thread that sleeps, and one that wakes it ----------------------------------------------------------------------------------------

struct Waking {
  double call_ns;   // what the waker spends in the call
  double awake_ns;  // from before the call to the woken thread's first look at the clock
};

// Lower quartiles: where another process has the sleeper's CPU, a thread is woken late, and that is not what is asked.
// The second CPU's thread sleeps, for `idle_ns` or more, until the first one's wakes it; `calls` times. The CPUs may be the same one.
inline Waking wake_sleeper_ns(const int* two_cpus, uint32_t calls, int64_t idle_ns) noexcept {
  Futex word{0};
  std::atomic<uint32_t> about_to_sleep{0};
  std::atomic<int64_t> awake_at{0};
  std::vector<int64_t> call(calls), awake(calls);
  const bool shared = two_cpus[0] == two_cpus[1];
  const int error = together(two_cpus, 2, [&](int i) {
    be_of_the_batch_kind();
    if (i == 1) {
      for (uint32_t k = 0; k < calls; ++k) {
        about_to_sleep.store(k + 1, std::memory_order_release);
        while (word.load(std::memory_order_acquire) == k) futex_sleep(word, k);
        awake_at.store(now_ns(), std::memory_order_release);
      }
      return;
    }
    for (uint32_t k = 0; k < calls; ++k) {
      while (about_to_sleep.load(std::memory_order_acquire) != k + 1) shared ? yield_thread() : pause_core();
      if (!shared) busy_wait(idle_ns);
      awake_at.store(0, std::memory_order_relaxed);
      const int64_t begin = now_ns();
      word.store(k + 1, std::memory_order_release);
      futex_wake(word);
      call[k] = now_ns() - begin;
      int64_t at;
      while ((at = awake_at.load(std::memory_order_acquire)) == 0) shared ? yield_thread() : pause_core();
      awake[k] = at - begin;
    }
  });
  if (error != 0) return {-static_cast<double>(error), 0.0};
  std::nth_element(call.begin(), call.begin() + calls / 4, call.end());
  std::nth_element(awake.begin(), awake.begin() + calls / 4, awake.end());
  return {static_cast<double>(call[calls / 4]), static_cast<double>(awake[calls / 4])};
}

struct Interrupting {
  double call_ns, awake_ns;  // as above
  double lost_ns;            // of the thread that had the CPU, for each wake: the interrupt, the woken thread, and two switches
};

// The same where another thread works on the second CPU all the time. The woken one takes the CPU at once, or, of the batch kind, has to
// wait for it; then the worker gives it away once the call is over.
inline Interrupting wake_on_busy_ns(const int* two_cpus, uint32_t calls, int64_t gap_ns, bool takes) noexcept {
  constexpr int64_t LEAST_LOST_NS = 500;  // more than a look at the clock takes
  const int seats[3] = {two_cpus[0], two_cpus[1], two_cpus[1]};
  Futex word{0};
  std::atomic<uint32_t> about_to_sleep{0};
  std::atomic<int64_t> awake_at{0};
  std::atomic<bool> give{false}, done{false};
  std::vector<int64_t> call(calls), awake(calls), lost;
  lost.reserve(4 * calls);
  const int error = together(seats, 3, [&](int i) {
    if (i == 2) {
      for (int64_t last = now_ns(); !done.load(std::memory_order_acquire);) {
        const int64_t now = now_ns();
        if (now - last > LEAST_LOST_NS && lost.size() < lost.capacity()) lost.push_back(now - last);
        last = now;
        if (!give.load(std::memory_order_acquire)) continue;
        yield_thread();
        last = now_ns();
      }
      return;
    }
    if (i == 1) {
      if (!takes) be_of_the_batch_kind();
      for (uint32_t k = 0; k < calls; ++k) {
        about_to_sleep.store(k + 1, std::memory_order_release);
        while (word.load(std::memory_order_acquire) == k) futex_sleep(word, k);
        awake_at.store(now_ns(), std::memory_order_release);
      }
      return;
    }
    for (uint32_t k = 0; k < calls; ++k) {
      while (about_to_sleep.load(std::memory_order_acquire) != k + 1) pause_core();
      give.store(false, std::memory_order_release);
      busy_wait(gap_ns);
      awake_at.store(0, std::memory_order_relaxed);
      const int64_t begin = now_ns();
      word.store(k + 1, std::memory_order_release);
      futex_wake(word);
      call[k] = now_ns() - begin;
      if (!takes) give.store(true, std::memory_order_release);
      int64_t at;
      while ((at = awake_at.load(std::memory_order_acquire)) == 0) pause_core();
      awake[k] = at - begin;
    }
    done.store(true, std::memory_order_release);
  });
  if (error != 0) return {-static_cast<double>(error), 0.0, 0.0};
  if (lost.empty()) lost.push_back(0);
  std::nth_element(call.begin(), call.begin() + calls / 4, call.end());
  std::nth_element(awake.begin(), awake.begin() + calls / 4, awake.end());
  std::nth_element(lost.begin(), lost.begin() + lost.size() / 2, lost.end());
  return {static_cast<double>(call[calls / 4]), static_cast<double>(awake[calls / 4]), static_cast<double>(lost[lost.size() / 2])};
}

// -- who runs when two want to ----------------------------------------------------------------------------------------------------------

// Two ordinary threads on one CPU; one works all the time and wakes the other every `gap_ns`, which then looks at the clock and sleeps again.
// How long it waits for the CPU, ns: the median.
inline double preempt_ns(int cpu, uint32_t calls, int64_t gap_ns) noexcept {
  const int both[2] = {cpu, cpu};
  Futex word{0};
  std::atomic<uint32_t> ran{0};
  std::atomic<int64_t> called{0};
  std::vector<int64_t> times;
  times.reserve(calls);
  const int error = together(both, 2, [&](int i) {
    for (uint32_t k = 0; k < calls; ++k) {
      if (i == 1) {
        while (word.load(std::memory_order_acquire) == k) futex_sleep(word, k);
        times.push_back(now_ns() - called.load(std::memory_order_acquire));
        ran.store(k + 1, std::memory_order_release);
        continue;
      }
      busy_wait(gap_ns);
      called.store(now_ns(), std::memory_order_release);
      word.store(k + 1, std::memory_order_release);
      futex_wake(word);
      while (ran.load(std::memory_order_acquire) != k + 1) pause_core();  // no yield: it shall take the CPU, not be given it
    }
  });
  if (error != 0) return -error;
  std::nth_element(times.begin(), times.begin() + calls / 2, times.end());
  return static_cast<double>(times[calls / 2]);
}

// How long one of two ordinary threads runs that both work all the time on one CPU, before the other does, ns: the median.
inline double slice_ns(int cpu, int64_t length_ns) noexcept {
  const int both[2] = {cpu, cpu};
  std::atomic<int> runs{-1};
  std::vector<int64_t> slices[2];
  const int error = together(both, 2, [&](int i) {
    slices[i].reserve(10000);
    const int64_t end = now_ns() + length_ns;
    int64_t began = 0;
    for (int64_t now = now_ns(); now < end; now = now_ns()) {
      if (runs.exchange(i, std::memory_order_acq_rel) == i) continue;
      if (began > 0 && slices[i].size() < 10000) slices[i].push_back(now - began);  // from one beginning to the next: both have run
      began = now;
    }
  });
  if (error != 0) return -error;
  std::vector<int64_t>& seen = slices[0];
  if (seen.empty()) return static_cast<double>(length_ns);
  std::nth_element(seen.begin(), seen.begin() + seen.size() / 2, seen.end());
  return static_cast<double>(seen[seen.size() / 2]) / 2;
}

}  // namespace millrace
