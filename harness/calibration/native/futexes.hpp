// futexes.hpp - what the operating system takes to put a thread to sleep, to wake it, and to switch
// between two.
//
// Threads that share a CPU here, but for the last two probes, are of the batch kind (SCHED_BATCH):
// one that is woken does not push the waker off its CPU, so that the waker's part and the switch
// can be told apart.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "futex.hpp"
#include "memory.hpp"
#include "pinned.hpp"
#include "thread.hpp"

namespace millrace {

inline void be_of_the_batch_kind() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
}

inline void busy_wait(int64_t ns) noexcept {
  for (const int64_t end = now_ns() + ns; now_ns() < end;) pause_core();
}

// -- calls that nobody answers: ns ----------------------------------------------------------------

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

// How much later a sleep of `ns` ends for the slack that the system gives the timers of an ordinary
// thread.
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

// -- threads that take turns on a CPU -------------------------------------------------------------

struct Rings {
  double turn_ns;  // from one thread to the next: a wake, a sleep and a switch
  double call_ns;  // by which a thread wakes its companion
};

// A ring of so many threads on each of the CPUs, at the same time: each thread wakes the next one
// and goes to sleep. Every so many rounds (0: never) it wakes a companion, too, which has nothing
// to do and sleeps again, on the same CPU or `elsewhere`, on the next one. `free`: threads may run
// on any of the CPUs, and with each wake-up the system chooses one for them: mostly the one that
// they have.
inline Rings rings_ns(const int* cpus, int count, int threads, uint32_t rounds, uint32_t every,
                      bool elsewhere, bool free) noexcept {
  struct alignas(128) Turn {
    Futex rounds{0};
    alignas(64) Futex told{0};
  };
  constexpr uint32_t over = ~0u;
  const int runners = count * threads, all = every > 0 ? 2 * runners : runners;
  std::vector<int> seats;
  for (int i = 0; i < all; ++i)
    seats.push_back(cpus[(i % runners / threads + (i >= runners && elsewhere)) % count]);
  const std::unique_ptr<Turn[]> turns(new Turn[static_cast<size_t>(runners)]);
  for (int first = 0; first < runners; first += threads)
    turns[static_cast<size_t>(first)].rounds.store(1, std::memory_order_relaxed);
  std::vector<std::vector<int64_t>> calls(static_cast<size_t>(runners));
  std::atomic<int64_t> ns{0};  // of all rings
  const int error = together(seats.data(), all, [&](int i) {
    be_of_the_batch_kind();
    if (free) unpin(cpus, count);
    Turn& mine = turns[static_cast<size_t>(i % runners)];
    if (i >= runners) {  // a companion
      for (uint32_t seen = 0; seen != over; seen = mine.told.load(std::memory_order_acquire))
        futex_sleep(mine.told, seen);
      return;
    }
    const int place = i % threads;
    Futex& next = turns[static_cast<size_t>(i - place + (place + 1) % threads)].rounds;
    const int64_t begin = now_ns();
    for (uint32_t round = 1; round <= rounds; ++round) {
      while (mine.rounds.load(std::memory_order_acquire) != round)
        futex_sleep(mine.rounds, round - 1);
      next.store(place + 1 == threads ? round + 1 : round, std::memory_order_release);
      futex_wake(next);
      if (every == 0 || round % every > 0) continue;
      mine.told.store(round, std::memory_order_release);
      const int64_t before = now_ns();
      futex_wake(mine.told);
      calls[static_cast<size_t>(i)].push_back(now_ns() - before);
    }
    if (place == 0) ns.fetch_add(now_ns() - begin, std::memory_order_relaxed);
    mine.told.store(over, std::memory_order_release);
    futex_wake(mine.told);
  });
  if (error != 0) return {-static_cast<double>(error), 0.0};
  std::vector<int64_t> times;
  for (const std::vector<int64_t>& some : calls)
    times.insert(times.end(), some.begin(), some.end());
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {static_cast<double>(ns.load()) / (static_cast<double>(runners) * rounds),
          times.empty() ? 0.0 : static_cast<double>(*middle)};
}

// A ring of threads on one CPU of which each reads so many bytes of its own, line by line, before
// it wakes the next one: from one thread to the next, below 0: an error of the system. Without
// `turns` one thread reads what all of them would, one after the other.
inline double reading_ring_ns(int cpu, int threads, uint32_t rounds, uint32_t bytes,
                              bool turns) noexcept {
  struct alignas(128) Turn {
    Futex rounds{0};
  };
  const std::unique_ptr<Turn[]> all(new Turn[static_cast<size_t>(threads)]);
  all[0].rounds.store(1, std::memory_order_relaxed);
  const size_t size = std::max<size_t>(static_cast<size_t>(threads) * bytes, 1);
  char* const memory = reserve_memory(size);
  if (memory == nullptr) return -ENOMEM;
  std::fill_n(memory, size, char{1});  // pages that nobody has written are all one page
  const auto read = [&](int i) {
    const char* own = memory + static_cast<size_t>(i) * bytes;
    for (uint32_t at = 0; at < bytes; at += 64)
      static_cast<void>(*static_cast<const volatile char*>(own + at));
  };
  const std::vector<int> seats(static_cast<size_t>(turns ? threads : 1), cpu);
  int64_t ns = 0;
  const int error = together(seats.data(), static_cast<int>(seats.size()), [&](int i) {
    be_of_the_batch_kind();
    const int64_t begin = now_ns();
    for (uint32_t round = 1; round <= rounds; ++round) {
      if (!turns) {
        for (int each = 0; each < threads; ++each) read(each);
        continue;
      }
      Futex &mine = all[static_cast<size_t>(i)].rounds,
            &next = all[static_cast<size_t>((i + 1) % threads)].rounds;
      while (mine.load(std::memory_order_acquire) != round) futex_sleep(mine, round - 1);
      read(i);
      next.store(i + 1 == threads ? round + 1 : round, std::memory_order_release);
      futex_wake(next);
    }
    if (i == 0) ns = now_ns() - begin;
  });
  give_back_memory(memory, size);
  return error != 0 ? -static_cast<double>(error)
                    : static_cast<double>(ns) / (static_cast<double>(threads) * rounds);
}

struct Switching {
  double call_ns;  // two threads that yield to each other: a call, with the switch that it may be
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

// -- a thread that sleeps, and one that wakes it --------------------------------------------------

struct Waking {
  double call_ns;   // what the waker spends in the call
  double awake_ns;  // from before the call to the woken thread's first look at the clock
};

// A thread that sleeps again and again, and what it takes to wake it.
class Sleeper {
 public:
  explicit Sleeper(uint32_t calls) : call_(calls), awake_(calls) {}

  void sleep() noexcept {
    for (uint32_t k = 0; k < call_.size(); ++k) {
      about_to_sleep_.store(k + 1, std::memory_order_release);
      while (word_.load(std::memory_order_acquire) == k) futex_sleep(word_, k);
      awake_at_.store(now_ns(), std::memory_order_release);
    }
  }
  // Wake it for the k-th time; `waits`: what the waker does until the sleeper is about to sleep,
  // and until it is awake; `before`, `after`: the call.
  template <class Waits, class Before, class After>
  void wake(uint32_t k, Waits waits, Before before, After after) noexcept {
    while (about_to_sleep_.load(std::memory_order_acquire) != k + 1) waits();
    before();
    awake_at_.store(0, std::memory_order_relaxed);
    const int64_t begin = now_ns();
    word_.store(k + 1, std::memory_order_release);
    futex_wake(word_);
    call_[k] = now_ns() - begin;
    after();
    int64_t at;
    while ((at = awake_at_.load(std::memory_order_acquire)) == 0) waits();
    awake_[k] = at - begin;
  }
  // Lower quartiles: where another process has the sleeper's CPU, a thread is woken late, and that
  // is not what is asked.
  Waking took() noexcept { return {quartile(call_), quartile(awake_)}; }

 private:
  static double quartile(std::vector<int64_t>& times) noexcept {
    std::nth_element(times.begin(), times.begin() + times.size() / 4, times.end());
    return static_cast<double>(times[times.size() / 4]);
  }
  Futex word_{0};
  std::atomic<uint32_t> about_to_sleep_{0};
  std::atomic<int64_t> awake_at_{0};
  std::vector<int64_t> call_, awake_;
};

// The second CPU's thread sleeps, for `idle_ns` or more, until the first one's wakes it; `calls`
// times. The CPUs may be the same one.
inline Waking wake_sleeper_ns(const int* two_cpus, uint32_t calls, int64_t idle_ns) noexcept {
  Sleeper sleeper(calls);
  const bool shared = two_cpus[0] == two_cpus[1];
  const int error = together(two_cpus, 2, [&](int i) {
    be_of_the_batch_kind();
    if (i == 1) return sleeper.sleep();
    const auto waits = [&] { shared ? yield_thread() : pause_core(); };
    const auto idles = [&] {
      if (!shared) busy_wait(idle_ns);
    };
    for (uint32_t k = 0; k < calls; ++k) sleeper.wake(k, waits, idles, [] {});
  });
  return error == 0 ? sleeper.took() : Waking{-static_cast<double>(error), 0.0};
}

struct Interrupting {
  double call_ns, awake_ns;  // as above
  // of the thread that had the CPU, for each wake: the interrupt, the woken thread, and two
  // switches
  double lost_ns;
};

// The same where another thread works on the second CPU all the time. The woken one takes the CPU
// at once, or, of the batch kind, has to wait for it; then the worker gives it away once the call
// is over.
inline Interrupting wake_on_busy_ns(const int* two_cpus, uint32_t calls, int64_t gap_ns,
                                    bool takes) noexcept {
  constexpr int64_t LEAST_LOST_NS = 500;  // more than a look at the clock takes
  const int seats[3] = {two_cpus[0], two_cpus[1], two_cpus[1]};
  Sleeper sleeper(calls);
  std::atomic<bool> give{false}, done{false};
  std::vector<int64_t> lost;
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
      return sleeper.sleep();
    }
    const auto works = [&] {
      give.store(false, std::memory_order_release);
      busy_wait(gap_ns);
    };
    const auto gives = [&] { give.store(!takes, std::memory_order_release); };
    for (uint32_t k = 0; k < calls; ++k) sleeper.wake(k, pause_core, works, gives);
    done.store(true, std::memory_order_release);
  });
  if (error != 0) return {-static_cast<double>(error), 0.0, 0.0};
  if (lost.empty()) lost.push_back(0);
  std::nth_element(lost.begin(), lost.begin() + lost.size() / 2, lost.end());
  const Waking took = sleeper.took();
  return {took.call_ns, took.awake_ns, static_cast<double>(lost[lost.size() / 2])};
}

// -- who runs when two want to --------------------------------------------------------------------

// How long one of two ordinary threads runs that both work all the time on one CPU, before the
// other does, ns: the median.
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
      if (began > 0 && slices[i].size() < 10000)
        slices[i].push_back(now - began);  // from one beginning to the next: both have run
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
