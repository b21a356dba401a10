// run_queue.hpp - the threads of one CPU, and which of them runs next.
//
//   CFS    The next thread is the one with the smallest virtual run time. A slice is the latency
//          over the number of threads, at least the granularity. A sleeper gets half a latency of
//          credit. It preempts the running thread if that is ahead by more than the granularity.
//   EEVDF  From Linux 6.6 on (a machine with a base slice). The next thread is the one with the
//          earliest deadline, a base slice after its request, among those that have had no more
//          than their share: their virtual run time is not beyond the mean. A sleeper is owed what
//          it was owed when it went to sleep. A thread that goes to sleep after more than its share
//          lingers until it would be its turn (delayed dequeue). If it is woken before, it goes on
//          in its queue, and no CPU is chosen. The thread that was woken last preempts the running
//          thread once that has had its share. Any thread does so at a tick, or when one is woken,
//          once the request of the running thread is done.
//          (Linux 6.18, kernel/sched/fair.c: __pick_eevdf, place_entity, dequeue_entity,
//          check_preempt_wakeup_fair.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "thread.hpp"

namespace millrace::sim {

class RunQueue {
 public:
  Thread* running = nullptr;
  Time idle_since = 0;
  Time counts_from = 0;     // when the running thread began to use the CPU, which woke up before
  Time preempt_at = NEVER;  // when the running thread learns that it has to give its CPU away
  Time interrupt = 0;       // time that learning it takes
  Average load;             // threads that were here, of those that ran here last
  // By domain: when it looks next whether another CPU there has more to do, and the looks in a row
  // that found so, and took nothing.
  struct Balance {
    Time at;
    uint32_t failed = 0;
  };
  std::vector<Balance> balances;
  Time balance_at = NEVER;  // the first of these

  bool empty() const noexcept { return waiting_.empty(); }
  bool any_lingers() const noexcept { return !lingering_.empty(); }
  size_t size() const noexcept { return waiting_.size(); }
  uint64_t loaded() const noexcept { return queued() + (running != nullptr); }
  int64_t least() const noexcept { return least_; }

  // Time passes for the thread, which runs.
  void account(Thread& thread, Time now) noexcept {
    if (now <= thread.since) return;
    thread.vruntime += static_cast<int64_t>(now - thread.since);
    thread.since = now;
    // EEVDF: front() may be any of them: `least_` is read only while no thread is here
    least_ =
        std::max(least_, waiting_.empty() ? thread.vruntime
                                          : std::min(thread.vruntime, waiting_.front()->vruntime));
  }

  // A thread that was asleep, or in another run queue, gets its place.
  void admit(const Machine& machine, Thread& thread, Time now) noexcept {
    if (machine.base_slice == 0) {
      const int64_t credit =
          running == nullptr ? 0 : static_cast<int64_t>(machine.sched_latency / 2);
      thread.vruntime = std::max(thread.vruntime, least_ - credit);
      return;
    }
    const auto others = static_cast<int64_t>(queued() + (running != nullptr));
    // so that it has its lag once it is one of them
    thread.vruntime = others == 0 ? least_ : mean(now) - thread.lag * (others + 1) / others;
    thread.deadline = thread.vruntime + static_cast<int64_t>(machine.base_slice);
  }
  void enqueue(const Machine& machine, Thread& thread) {
    thread.state = Thread::RUNNABLE;
    cold_at_ = std::min(cold_at_, cold_at(machine, thread));
    waiting_.push_back(&thread);
    if (machine.base_slice == 0) {
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    } else {
      sum_ += thread.vruntime;
    }
  }
  // The next thread to run, where none runs now; null if none waits.
  Thread* dequeue(const Machine& machine, Time now) {
    if (machine.base_slice == 0) {
      if (waiting_.empty()) return nullptr;
      std::pop_heap(waiting_.begin(), waiting_.end(), later);
      Thread* thread = waiting_.back();
      waiting_.pop_back();
      return thread;
    }
    Thread* next = pick(now, nullptr);
    if (next == nullptr) return nullptr;
    least_ = std::max(least_, mean(now));
    remove(waiting_, next);
    return next;
  }

  // The thread, which runs, goes to sleep.
  void sleep(const Machine& machine, Thread& thread, Time now) {
    if (machine.base_slice == 0) return;
    const int64_t middle = mean(now),
                  most = static_cast<int64_t>(std::max(2 * machine.base_slice, machine.tick));
    thread.lag = std::min(middle - thread.vruntime, most);
    thread.lingers = thread.lag < 0;
    if (!thread.lingers) return;
    lingering_.push_back(&thread);
    sum_ += thread.vruntime;
  }
  // A thread that lingers is woken: it waits again.
  void wake(const Machine& machine, Thread& thread, Time now) {
    remove(lingering_, &thread);
    thread.lingers = false;
    if (thread.vruntime < mean(now)) {
      thread.lag = 0;
      admit(machine, thread, now);
    }
    enqueue(machine, thread);
  }
  // The thread, which runs, lets others go first.
  void yield(const Machine& machine, Thread& thread, Time now) noexcept {
    if (machine.base_slice == 0) {
      thread.vruntime = std::max(thread.vruntime, waiting_.front()->vruntime + 1);
    } else if (thread.vruntime <= mean(now)) {  // the thread forfeits the rest of its request
      thread.vruntime = thread.deadline;
      thread.deadline += static_cast<int64_t>(machine.base_slice);
    }
  }

  // True if a thread that was woken just now, and waits, has to run at once.
  bool preempts(const Machine& machine, const Thread& woken, Time now) const noexcept {
    if (machine.base_slice == 0) {
      const int64_t lead =
          running->vruntime + static_cast<int64_t>(now - running->since) - woken.vruntime;
      return now >= running->since && lead > static_cast<int64_t>(machine.wakeup_granularity);
    }
    if (running->vruntime_at(now) >= running->deadline) return true;
    return running->vruntime_at(now) > mean(now) && earliest(now, nullptr) == &woken;
  }
  // True if the thread, which runs and is between two steps, gives its CPU away.
  bool gives_way(const Machine& machine, Thread& thread, Time now) {
    const bool preempted = now >= preempt_at;
    if (preempted || waiting_.empty()) preempt_at = NEVER;
    if (machine.base_slice == 0)
      return !waiting_.empty() && (preempted || now - thread.slice_began >= slice(machine));
    const bool ticked = now / machine.tick != ticks_;
    ticks_ = now / machine.tick;
    if (queued() == 0) return false;
    if (!preempted && !(ticked && thread.vruntime >= thread.deadline)) return false;
    if (thread.vruntime >= thread.deadline)
      thread.deadline = thread.vruntime + static_cast<int64_t>(machine.base_slice);
    return pick(now, &thread) != &thread;
  }

  // True if a waiting thread's cache counts as cold, so that another CPU may take the thread.
  bool has_cold(const Machine& machine, Time now) noexcept { return cold(machine, now) != NONE; }
  // Takes the one of those that has run least.
  Thread* take_cold(const Machine& machine, Time now) {
    return take(machine, cold(machine, now), now);
  }
  // Takes the thread that has waited longest; null if none waits, or if the caches of all count as
  // hot and `hot_too` is false.
  Thread* take_oldest(const Machine& machine, Time now, bool hot_too) {
    const auto older = [](const Thread* a, const Thread* b) {
      return a->ran < b->ran || (a->ran == b->ran && a->id < b->id);
    };
    const auto oldest = std::min_element(waiting_.begin(), waiting_.end(), older);
    if (oldest == waiting_.end() || (!hot_too && now < cold_at(machine, **oldest))) return nullptr;
    return take(machine, static_cast<uint32_t>(oldest - waiting_.begin()), now);
  }
  // EEVDF: the next thread to run, of those that wait and `current`, which runs or is null. A
  // thread that lingers leaves once it would be its turn.
  Thread* pick(Time now, Thread* current) noexcept {
    for (;;) {
      Thread* next =
          earliest(now, current != nullptr && current->vruntime <= mean(now) ? current : nullptr);
      if (next == nullptr || !next->lingers) return next;
      least_ = std::max(least_, mean(now));
      load.pass(now, loaded());
      next->load.pass(now, 1);
      remove(lingering_, next);
      next->lingers = false;
      next->lag = 0;  // a thread that slept meanwhile is owed nothing (DELAY_ZERO)
    }
  }

 private:
  static bool later(const Thread* a, const Thread* b) noexcept {
    return a->vruntime > b->vruntime || (a->vruntime == b->vruntime && a->id > b->id);
  }
  static bool sooner(const Thread* a, const Thread* b) noexcept {
    return a->deadline < b->deadline || (a->deadline == b->deadline && a->id < b->id);
  }
  static Time cold_at(const Machine& machine, const Thread& thread) noexcept {
    return thread.ran == 0 ? 0 : thread.ran + machine.migration_cost;
  }
  Time slice(const Machine& machine) const noexcept {
    return std::max<Time>(machine.sched_latency / (waiting_.size() + 1), machine.min_granularity);
  }
  size_t queued() const noexcept { return waiting_.size() + lingering_.size(); }
  // The mean virtual run time of all threads here; of the last ones if there are none.
  int64_t mean(Time now) const noexcept {
    const auto threads = static_cast<int64_t>(queued() + (running != nullptr));
    return threads == 0 ? least_
                        : (sum_ + (running != nullptr ? running->vruntime_at(now) : 0)) / threads;
  }
  // The thread with the earliest deadline, of `best` and those that have had no more than their
  // share.
  Thread* earliest(Time now, Thread* best) const noexcept {
    const int64_t middle = mean(now);
    for (const std::vector<Thread*>* threads : {&waiting_, &lingering_}) {
      for (Thread* thread : *threads) {
        if (thread->vruntime <= middle && (best == nullptr || sooner(thread, best))) best = thread;
      }
    }
    return best;
  }
  void remove(std::vector<Thread*>& from, Thread* thread) noexcept {
    sum_ -= thread->vruntime;
    *std::find(from.begin(), from.end(), thread) = from.back();
    from.pop_back();
  }
  Thread* take(const Machine& machine, uint32_t place, Time now) {
    Thread* thread = waiting_[place];
    if (machine.base_slice == 0) {
      waiting_.erase(waiting_.begin() + place);
      std::make_heap(waiting_.begin(), waiting_.end(), later);
    } else {
      thread->lag = mean(now) - thread->vruntime;
      remove(waiting_, thread);
    }
    return thread;
  }
  // The place of the waiting thread that has run least of those whose cache counts as cold; NONE if
  // there is none. The order of `waiting_`, which the library chooses, must not decide.
  uint32_t cold(const Machine& machine, Time now) noexcept {
    if (now < cold_at_) return NONE;
    Time first = UINT64_MAX;
    uint32_t best = NONE;
    for (uint32_t place = 0; place < waiting_.size(); ++place) {
      const Time when = cold_at(machine, *waiting_[place]);
      first = std::min(first, when);
      if (when <= now && (best == NONE || later(waiting_[best], waiting_[place]))) best = place;
    }
    cold_at_ = first;
    return best;
  }

  static constexpr uint32_t NONE = UINT32_MAX;
  std::vector<Thread*> waiting_;    // CFS: a heap, the smallest virtual run time in front
  std::vector<Thread*> lingering_;  // EEVDF
  int64_t sum_ = 0;                 // EEVDF: of the virtual run times in both
  int64_t least_ = 0;               // virtual run time that no thread here is far behind
  Time cold_at_ = 0;                // before it no waiting thread's cache counts as cold
  Time ticks_ = 0;                  // number of the last tick that a running thread has seen
};

}  // namespace millrace::sim
