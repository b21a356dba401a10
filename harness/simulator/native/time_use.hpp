// time_use.hpp - how much virtual time each thread has spent on what (native/activity.hpp). It is
// added up whenever a thread turns to something else, and counts what the thread owes by then: so
// the sums are the thread's time, to the picosecond.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "activity.hpp"
#include "calendar.hpp"
#include "thread.hpp"

namespace millrace::sim {

class TimeUse {
 public:
  // A thread's time on one activity for one operator, up to now. It is below 0 where a step of the
  // thread that has begun ends later.
  struct Entry {
    uint32_t thread, word;
    int64_t time;
  };

  bool on = false;

  void begin(const Thread& thread, Time now) {
    if (threads_.size() <= thread.id) threads_.resize(thread.id + 1);
    threads_[thread.id] = {true, now, waited(thread, now), {}};
  }
  // The thread has done what `word` says until then.
  void spend(const Thread& thread, uint32_t word, Time until) {
    OfThread& of = threads_[thread.id];
    add(of.spent, word, until - of.since, waited(thread, until) - of.waited);
    of.since = until;
    of.waited = waited(thread, until);
  }
  // Everything up to now; `word(i)` and `thread(i)` tell what thread i does.
  template <class WordOf, class ThreadOf>
  std::vector<Entry> read(Time now, WordOf word, ThreadOf thread) const {
    std::vector<Entry> entries;
    for (uint32_t i = 0; i < threads_.size(); ++i) {
      const OfThread& of = threads_[i];
      if (!of.begun) continue;
      auto spent = of.spent;
      add(spent, word(i), now - of.since, waited(thread(i), now) - of.waited);
      for (const auto& [word_, time] : spent) entries.push_back({i, word_, time});
    }
    return entries;
  }

 private:
  using Spent = std::unordered_map<uint32_t, int64_t>;
  struct OfThread {
    bool begun = false;
    Time since = 0;   // when its last turn began
    Time waited = 0;  // for a CPU, until then
    Spent spent;
  };

  // For a CPU, since the thread began.
  static Time waited(const Thread& thread, Time now) noexcept {
    return thread.waited + (thread.state == Thread::RUNNABLE && now > thread.waits_since
                                ? now - thread.waits_since
                                : 0);
  }
  static void add(Spent& spent, uint32_t word, Time passed, Time without_cpu) {
    spent[word] += static_cast<int64_t>(passed - without_cpu);
    if (without_cpu > 0)
      spent[doing(Activity::READY, word & OF_OPERATOR)] += static_cast<int64_t>(without_cpu);
  }

  std::vector<OfThread> threads_;  // by process
};

}  // namespace millrace::sim
