// coroutines.hpp - operators as co-routines on any number of threads: their states, their wait
// conditions, and the scheduler that picks the next one (C-Stream s3.2).
//
//   READY          it can go on, and is in the set that threads pick from
//   RUNNING        a thread executes it
//   READ_BLOCKED   it waits for tuples at input ports
//   WRITE_BLOCKED  it waits for room at a port downstream, or for something else that others give
//                  back
//   ASLEEP         it waits for a time
//   CLAIMED        a thread checks if it can go on
//   COMPLETED      it has returned
//
// Only one thread at a time may run, claim or pick a co-routine (ALONE). Edges, at settle():
// BLOCKED, CLAIM; at stuck_now(): OUTSIDE
// Checked by: tests/native/stress_coroutines.cpp, tests/runtime/test_coroutines.py; step by step
// beside the reference tests/runtime/scheduler.py; in many interleavings by
// tests/native/explore_coroutines.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fibre.hpp"
#include "policies.hpp"

namespace millrace {

enum class CoState : uint32_t {
  READY,
  RUNNING,
  READ_BLOCKED,
  WRITE_BLOCKED,
  ASLEEP,
  CLAIMED,
  COMPLETED
};
enum class WaitMode : uint32_t { ALL, ANY };
enum class Waited : uint32_t { DONE, OVER };

inline constexpr uint32_t NO_CO = UINT32_MAX;

// `Platform` defines words, locks, clocks, fibres and sleep: those of this machine, or virtual
// ones. `Graph` gives access to ports, and is called when something happens:
//
//   size(port), room(port), closed(port), reader(port)
//   writers(port)                    may be empty: then others than co-routines send there
//   given(co)                        true if the thing that WRITE_BLOCKED co waits for has been
//                                    given back, if that is not room at a port
//   seen(co, scheduled_ns, looks)    the facts that policies see
//   refused(co)                      the policy's score of it is not a number: the run has to fail;
//                                    may be called several times
//   stuck()                          none of the co-routines that have not completed can go on by
//                                    itself; may be called several times
//   leaves(co)                       on its own stack, before it stops for anything: do the work
//                                    that it has put off
//   turn_begins(thread, co, now_ns), turn_ends(thread, co, began_ns, now_ns)
//                                    on the thread's stack
//   rests(thread, suspended), wakes(thread, suspended)
//                                    a thread goes to sleep, or is back
template <class Platform, class Graph>
class Coroutines {
 public:
  template <class T>
  using Word = typename Platform::template Word<T>;
  template <class T>
  using RareWord = typename Platform::template RareWord<T>;
  using Lock = typename Platform::Lock;

  struct Thread;
  struct Coroutine {
    Word<CoState> state{CoState::READY};
    uint32_t index = 0;
    void (*body)(Coroutine&) = nullptr;
    void* own = nullptr;  // what the body works on
    Coroutines* all = nullptr;
    Thread* thread = nullptr;  // that executes it now; changes with each switch
    // what it waits for
    std::vector<uint32_t> inputs;            // its input ports
    std::unique_ptr<Word<uint32_t>[]> need;  // by input: tuples; 0: it does not wait there
    Word<uint32_t> mode{0};
    // ports that have no room, or OTHER, something else of the graph's: any of them will do
    std::unique_ptr<Word<uint32_t>[]> lacks;
    Word<uint32_t> lacking{0};           // how many
    uint32_t most_lacking = 1;           // ports, at once
    int64_t wakes_ns = 0;                // ASLEEP: until then
    bool (*may)(const void*) = nullptr;  // in place of inputs: whether `what` lets it go on
    const void* what = nullptr;
    // Of an operator's first co-routine: its replicas, which come and go (replicas.hpp); the first
    // `shown` may be there. `reader` and `writers` of the graph name the first co-routine. A thread
    // that changes a port looks at the replicas shown, too. A replica is shown before it begins, so
    // it sees by itself all changes that were made before other threads could see it.
    std::vector<Coroutine*> replicas;
    Word<uint32_t> shown{0};
    bool again = false;  // under the lock: it begins anew when it has completed
    // what policies see
    int64_t scheduled_ns = 0, turn_ends_ns = 0;
    uint64_t turns = 0;
    uint64_t waits = 0, waits_for_all = 0;
    uint64_t chance = 0;
    double judged = policies::LAST;  // under the lock: its score by a policy that judges
    // how often it reads the clock
    int64_t looked_ns = 0;
    uint32_t looks_left = 0, stretch = 1;
    typename Platform::Fibre fibre;
  };

  // A thread that executes co-routines.
  struct Thread {
    uint32_t index = 0;
    typename Platform::Fibre own;
    uint64_t chance = 0x9E3779B97F4A7C15;
    void (*call)(void*) = nullptr;  // what a co-routine wants to be done on the thread's own stack
    void* argument = nullptr;
    Word<bool> suspended{false};       // it picks nothing more: its level was taken away
    bool busy = false;                 // under the lock: it has picked one
    RareWord<bool> judging{false};     // a user's policy has it
    typename Platform::Signal signal;  // where it sleeps
    // co-routines that a policy judges
    std::vector<uint32_t> asked;
    std::vector<Seen> seen;
    std::vector<SeenPort> ports;  // of these, one after the other
    std::vector<double> scores;
  };

  static constexpr uint32_t OTHER = UINT32_MAX;

  // `ports`: of the graph, as many as its numbers go up to. The last `absent` of the co-routines
  // are not there until start().
  Coroutines(Graph& graph, uint32_t count, uint32_t ports, const Policy& policy, int64_t quantum_ns,
             uint32_t absent = 0)
      : graph_(graph),
        policy_(policy),
        quantum_ns_(quantum_ns),
        coroutines_(new Coroutine[count]),
        count_(count),
        senders_(new Senders[ports]),
        open_(count - absent) {
    for (uint32_t i = 0; i < count; ++i) {
      coroutines_[i].index = i;
      coroutines_[i].all = this;
      coroutines_[i].chance = 0x9E3779B97F4A7C15 * (i + 1);
      if (i >= open_) coroutines_[i].state.store(CoState::COMPLETED, std::memory_order_relaxed);
    }
    ready_.reserve(count);
    asleep_.reserve(count);
  }

  Coroutine& operator[](uint32_t index) noexcept { return coroutines_[index]; }
  uint32_t count() const noexcept { return count_; }
  const Stacks& stacks() const noexcept { return stacks_; }

  // Before the threads. Stacks of `bytes` each, which an access may miss by `reach`; false: the
  // system refuses them.
  bool begin(size_t bytes, size_t reach = 1) {
    if (!stacks_.reserve(count_, bytes, reach)) return false;
    for (uint32_t i = 0; i < count_; ++i) {
      Coroutine& co = coroutines_[i];
      co.need.reset(new Word<uint32_t>[co.inputs.size() + 1]());
      co.lacks.reset(new Word<uint32_t>[co.most_lacking + 1]());
      if (i < open_) enter_new(co);
    }
    return true;
  }
  // Lets a replica begin, anew if it was there before, even if it is about to complete. False: the
  // run is over, or all have completed.
  bool start(Coroutine& co) {
    lock_.lock();
    Thread* called = nullptr;
    const bool open = open_ > 0 && !over();
    if (open && co.state.load(std::memory_order_relaxed) == CoState::COMPLETED) {
      ++open_;
      enter_new(co);
      called = call_one();
    } else {
      co.again = open;
    }
    lock_.unlock();
    if (called != nullptr) called->signal.wake_one();
    return open;
  }

  // Before the thread works, which takes no memory: where it rests, and whom it judges. Others may
  // work already.
  void prepare(Thread& thread) {
    if (policy_.judge != nullptr) {
      thread.asked.reserve(count_);
      thread.seen.reserve(count_);
      thread.scores.reserve(count_);
    }
    if constexpr (SEES_PORTS) {
      if (policy_.judge != nullptr || policy_.preempts != nullptr)
        thread.ports.reserve(graph_.port_ends());
    }
    const std::lock_guard lock(lock_);
    idle_.reserve(thread.index + 1);
    suspended_.reserve(thread.index + 1);
  }
  // What a thread does until it is done. Its record must live as long as any of the threads works.
  void work(Thread& thread) {
    thread.own.adopt_thread();
    const FloatingPoint floating_point;
    Coroutine* preempted = nullptr;
    while (Coroutine* co = pick(thread, preempted)) {
      preempted = nullptr;
      Request request;
      for (;;) {
        co->thread = &thread;
        request = static_cast<Request>(
            reinterpret_cast<uintptr_t>(thread.own.switch_to(co->fibre, &thread)));
        if (request != CALL) break;
        thread.call(thread.argument);
        floating_point
            // if users' code has changed it, others' code on this thread does not notice
            .restore();
      }
      graph_.turn_ends(thread.index, co->index, co->scheduled_ns, platform_.now());
      switch (request) {
        case READ:
          settle(*co, CoState::READ_BLOCKED);
          break;
        case WRITE:
          settle(*co, CoState::WRITE_BLOCKED);
          break;
        case SLEEP:
          fall_asleep(*co);
          break;
        case PREEMPTED:
          preempted = co;
          break;
        default:
          complete(*co);
      }
    }
  }

  // -- for co-routines, on their own stacks -------------------------------------------------------

  // Waits until `need[i]` tuples are at input i, of all or of any (Algorithms 1 and 2). OVER: that
  // will never be.
  Waited wait(Coroutine& self, WaitMode mode) {
    self.mode.store(static_cast<uint32_t>(mode), std::memory_order_relaxed);
    ++self.waits;
    self.waits_for_all += mode == WaitMode::ALL;
    for (;;) {
      if (satisfied(self)) {
        check_for_preemption(self);
        return Waited::DONE;
      }
      if (hopeless(self)) return Waited::OVER;
      leave(self, READ);
    }
  }
  // Waits until its `may` says that it may go on. OVER: the run is over.
  Waited wait(Coroutine& self) {
    while (!over()) {
      if (self.may(self.what)) return Waited::DONE;
      leave(self, READ);
    }
    return Waited::OVER;
  }
  // Waits until the port has room, its reader has completed, or the run is over: one round of
  // Algorithm 3.
  void wait_for_room(Coroutine& self, uint32_t port) {
    lack(self, port);
    wait_for_any(self);
  }
  // Waits until Graph::given says so, or the run is over.
  void wait_for_other(Coroutine& self) { wait_for_room(self, OTHER); }
  // Adds a port, or OTHER, to what the next wait_for_any is for.
  void lack(Coroutine& self, uint32_t what) {
    const uint32_t count = self.lacking.load(std::memory_order_relaxed);
    self.lacks[count].store(what, std::memory_order_relaxed);
    self.lacking.store(count + 1, std::memory_order_relaxed);
  }
  void wait_for_any(Coroutine& self) {
    if (!given(self)) {
      each_port(self, [&](uint32_t port) {
        senders_[port].waiting.fetch_add(1, std::memory_order_relaxed);
      });
      leave(self, WRITE);
    }
    self.lacking.store(0, std::memory_order_relaxed);
  }
  // Waits until a time, or until the run is over.
  void sleep_until(Coroutine& self, int64_t time_ns) {
    self.wakes_ns = time_ns;
    if (!over()) leave(self, SLEEP);
  }
  // Lets others run.
  void yield(Coroutine& self) { leave(self, PREEMPTED); }

  // A policy that decides itself is asked each time (s3.2.6); else the quantum does. The clock is
  // read as often as needed to be late by an eighth of the quantum at most, where tuples go on
  // costing what they did.
  void check_for_preemption(Coroutine& self) {
    if (policy_.preempts != nullptr) {
      if (preempted_by_policy(self)) leave(self, PREEMPTED);
      return;
    }
    if (self.looks_left > 0) {
      --self.looks_left;
      return;
    }
    constexpr uint32_t most = 64;
    const int64_t now = platform_.now();
    if (now >= self.turn_ends_ns || self.thread->suspended.load(std::memory_order_relaxed)) {
      leave(self, PREEMPTED);
      return;
    }
    self.stretch = now - self.looked_ns < quantum_ns_ / 16 ? std::min(2 * self.stretch, most) : 1;
    self.looked_ns = now;
    self.looks_left = self.stretch - 1;
  }
  // Calls a function on the thread's own stack, which is as large as a thread's: users' code, the
  // interpreter.
  void on_thread(Coroutine& self, void (*call)(void*), void* argument) {
    self.thread->call = call;
    self.thread->argument = argument;
    self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(CALL));
  }

  // -- for threads that change a port -------------------------------------------------------------

  // After tuples were published (Algorithm 7), or the port has closed.
  void written(uint32_t port) { wake_one_of(graph_.reader(port)); }
  // After something has changed that an operator's co-routines wait for: wakes one that can go on,
  // which wakes the next if that was enough for two.
  void wake_one_of(uint32_t first) {
    platform_.fence();  // BLOCKED
    any_of(first, [&](Coroutine& co) { return wake_reader(co); });
  }
  void wake_this(Coroutine& co) {
    platform_.fence();  // BLOCKED
    wake_reader(co);
  }
  // After one of several senders has published tuples: if it has left room, and another one waits
  // for room, that one is woken. The reader wakes only one of them: with a thousand senders, all
  // would be woken for the room of a batch.
  void written_by_one_of(uint32_t port) {
    if (senders_[port].waiting.load(std::memory_order_relaxed) > 0 && graph_.room(port) > 0)
      wake_sender(port);
  }
  // After tuples were taken (Algorithm 8).
  void read(uint32_t port) {
    const std::vector<uint32_t>& writers = graph_.writers(port);
    if (writers.empty()) return;
    platform_.fence();  // BLOCKED
    if (writers.size() == 1) {
      given_back(writers[0]);
    } else if (senders_[port].waiting.load(std::memory_order_relaxed) > 0) {
      wake_sender(port);
    }
  }
  // After a co-routine may have been given what it lacks.
  void gave(uint32_t index) {
    platform_.fence();  // BLOCKED
    given_back(index);
  }
  // Has a thread that is none of these make a change that co-routines may wait for, and wake them.
  // As long as it does, one that it has claimed is neither blocked nor ready, and the run only
  // looks stuck.
  template <class Change>
  void from_outside(Change change) {
    outside_.fetch_add(1, std::memory_order_seq_cst);
    change();
    outside_.fetch_sub(1, std::memory_order_release);  // OUTSIDE
    lock_.lock();
    // threads that went to sleep meanwhile did not find the graph stuck
    Thread* called = stuck_now() ? call_one() : nullptr;
    lock_.unlock();
    if (called != nullptr) called->signal.wake_one();
  }

  // -- for the engine -----------------------------------------------------------------------------

  bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  // Ends the run (a stop, or a failure): every blocked co-routine can go on; its wait returns OVER,
  // and its push gives up.
  void end() {
    over_.store(true, std::memory_order_seq_cst);
    platform_.fence();  // BLOCKED
    for (uint32_t i = 0; i < count_; ++i) {
      const CoState state = coroutines_[i].state.load(std::memory_order_acquire);
      if (state == CoState::READ_BLOCKED || state == CoState::WRITE_BLOCKED)
        try_wake(coroutines_[i], state);
    }
    lock_.lock();
    while (!asleep_.empty()) wake_sleeper();
    call_all();
    lock_.unlock();
  }
  // A thread picks no more, and sleeps as soon as its co-routine lets go of it, until the run is
  // over; or it picks again.
  void suspend(Thread& thread, bool suspended) {
    lock_.lock();
    thread.suspended.store(suspended, std::memory_order_relaxed);
    lock_.unlock();
    thread.signal.wake_one();
  }
  // Whether no thread of these will ever have work again, though the run is not over.
  bool is_stuck() {
    lock_.lock();
    const bool stuck = stuck_now();
    lock_.unlock();
    return stuck;
  }
  // Whether a co-routine could be executed at once if there were a thread for it.
  bool somebody_ready() {
    lock_.lock();
    const bool some =
        !ready_.empty() || (!asleep_.empty() && asleep_.front().first <= platform_.now());
    lock_.unlock();
    return some;
  }

 private:
  enum Request : uintptr_t { READ = 1, WRITE, SLEEP, PREEMPTED, COMPLETED, CALL };

  struct Senders {
    Word<uint32_t> waiting{0};  // co-routines that wait for room at this port
    Word<uint32_t> turn{0};     // of which of the port's writers it is to be woken
  };
  // A ready co-routine; the highest is next.
  struct Entry {
    double score;
    uint32_t index;
    uint32_t chance;  // between equal scores
    bool enough;      // tuples to be worth a turn
    bool operator<(const Entry& other) const noexcept {
      if (enough != other.enough) return !enough;
      return score != other.score ? score < other.score : chance < other.chance;
    }
  };

  static void enter(void* argument, void*) {
    Coroutine& self = *static_cast<Coroutine*>(argument);
    self.fibre.arrived();
    self.body(self);
    self.all->graph_.leaves(self.index);
    self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(COMPLETED), true);
  }
  void leave(Coroutine& self, Request request) {
    graph_.leaves(self.index);
    self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(request));
  }

  bool satisfied(const Coroutine& co) const {
    const bool any =
        co.mode.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitMode::ANY);
    for (size_t i = 0; i < co.inputs.size(); ++i) {
      const uint32_t need = co.need[i].load(std::memory_order_relaxed);
      if (need > 0 && (graph_.size(co.inputs[i]) >= need) == any) return any;
    }
    return !any;
  }
  // Whether what it waits for can never be: ports are closed, or the run is over.
  bool hopeless(const Coroutine& co) const {
    if (over()) return true;
    const bool any =
        co.mode.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitMode::ANY);
    for (size_t i = 0; i < co.inputs.size(); ++i) {
      const uint32_t need = co.need[i].load(std::memory_order_relaxed);
      if (need == 0) continue;
      const bool never =
          graph_.closed(co.inputs[i]) &&
          graph_.size(co.inputs[i]) < need;  // closed first: what came before it is seen
      if (never != any) return never;
    }
    return any;
  }
  bool given(const Coroutine& co) const {
    const uint32_t lacking = co.lacking.load(std::memory_order_relaxed);
    if (lacking == 0 || over()) return true;
    for (uint32_t i = 0; i < lacking; ++i) {
      if (has(co, co.lacks[i].load(std::memory_order_relaxed))) return true;
    }
    return false;
  }
  bool has(const Coroutine& co, uint32_t lacked) const {
    if (lacked == OTHER) return graph_.given(co.index);
    if (graph_.room(lacked) > 0) return true;
    const uint32_t reader = graph_.reader(lacked);
    return reader != NO_CO &&
           coroutines_[reader].state.load(std::memory_order_acquire) == CoState::COMPLETED;
  }
  // Calls `tell` for each port whose room it waits for.
  template <class Tell>
  static void each_port(const Coroutine& co, Tell tell) {
    const uint32_t lacking = co.lacking.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < lacking; ++i) {
      if (const uint32_t lacked = co.lacks[i].load(std::memory_order_relaxed); lacked != OTHER)
        tell(lacked);
    }
  }
  bool may_go_on(const Coroutine& co, CoState blocked) const {
    if (blocked == CoState::WRITE_BLOCKED) return given(co);
    return co.may != nullptr ? over() || co.may(co.what) : satisfied(co) || hopeless(co);
  }

  // The caller is alone with it, and lets go of it: it is blocked from now on, or ready. A
  // co-routine never changes its own state: it switches to the stack of its thread, which calls
  // this. So no other thread can run it while it is still on its stack.
  //
  // No lost wake-up. Edge BLOCKED: two fences. The side of a port changes the port, then reads the
  // states of the co-routines that may wait for it; this side stores the blocked state, then reads
  // the ports. Each has a fence between its store and its read. All these fences have one order, so
  // either the port's side sees the blocked state, or this side sees the change.
  //
  // Edge CLAIM: a thread that sees that a blocked co-routine can go on takes it by a
  // compare-exchange, and is the only one that makes it ready. A wrong claim is taken back by
  // settle(), which looks again. The wait condition may be read while another thread has claimed
  // the co-routine and it already waits for something else. So a reader acts on what it has read
  // only by a claim, and reads again once it has it.
  void settle(Coroutine& co, CoState blocked) {
    for (;;) {
      co.state.store(blocked, std::memory_order_release);  // CLAIM
      platform_.fence();                                   // BLOCKED
      if (!may_go_on(co, blocked)) return;
      if (!claim(co, blocked)) return;  // the thread that was faster makes it ready
      if (may_go_on(co, blocked)) return wake(co, blocked);
    }
  }
  // Whether it is ready now by the caller.
  bool try_wake(Coroutine& co, CoState blocked) {
    if (!may_go_on(co, blocked) || !claim(co, blocked)) return false;
    if (!may_go_on(co, blocked)) {
      settle(co, blocked);
      return false;
    }
    wake(co, blocked);
    return true;
  }
  // It was blocked, and the caller has claimed it.
  void wake(Coroutine& co, CoState blocked) {
    if (blocked == CoState::WRITE_BLOCKED)
      each_port(co, [&](uint32_t port) {
        senders_[port].waiting.fetch_sub(1, std::memory_order_relaxed);
      });
    make_ready(co);
  }
  bool claim(Coroutine& co, CoState blocked) {
    return co.state.compare_exchange_strong(blocked, CoState::CLAIMED, std::memory_order_acq_rel,
                                            std::memory_order_relaxed);  // CLAIM
  }
  bool wake_reader(Coroutine& co) {
    return co.state.load(std::memory_order_acquire) == CoState::READ_BLOCKED &&
           try_wake(co, CoState::READ_BLOCKED);
  }
  bool given_back(uint32_t writer) {
    return any_of(writer, [&](Coroutine& co) {
      return co.state.load(std::memory_order_acquire) == CoState::WRITE_BLOCKED &&
             try_wake(co, CoState::WRITE_BLOCKED);
    });
  }
  // Whether `body` says so of one of an operator's co-routines, whose first one this is.
  template <class Body>
  bool any_of(uint32_t index, Body body) {
    Coroutine& first = coroutines_[index];
    if (body(first)) return true;
    const uint32_t shown = first.shown.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < shown; ++i) {
      if (body(*first.replicas[i])) return true;
    }
    return false;
  }
  bool lacks_room(uint32_t writer, uint32_t port) {
    return any_of(writer, [&](Coroutine& co) {
      bool lacks = false;
      each_port(co, [&](uint32_t lacked) { lacks = lacks || lacked == port; });
      return lacks;
    });
  }
  // One of those that wait for room at the port, each in its turn.
  void wake_sender(uint32_t port) {
    const std::vector<uint32_t>& writers = graph_.writers(port);
    const auto count = static_cast<uint32_t>(writers.size());
    const uint32_t first = senders_[port].turn.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count && graph_.room(port) > 0; ++i) {
      const uint32_t at = first + i < count ? first + i : first + i - count;
      if (lacks_room(writers[at], port) && given_back(writers[at])) {
        senders_[port].turn.store(at + 1 < count ? at + 1 : 0, std::memory_order_relaxed);
        return;
      }
    }
  }

  // -- the ready set ------------------------------------------------------------------------------
  //
  // If a policy's scores never rise while a co-routine is ready, each gets its score when it
  // becomes ready. These co-routines are a heap, and its first one is scored again until it stays
  // first. So such a policy is obeyed exactly, and a turn costs the logarithm of the number of
  // ready co-routines. Any other policy scores all ready co-routines whenever one is picked
  // (Policy::rises). A policy that judges (policies.hpp) is called by the thread that picks,
  // without the lock, so a user's function that never returns holds that thread alone.

  // A co-routine that becomes ready. The caller is alone with it.
  Entry entry_of(Coroutine& co) {
    Entry entry{0.0, co.index, static_cast<uint32_t>(drawn(co.chance) >> 32), true};
    if (heaped()) look_at(entry);
    return entry;
  }
  // Scores it now. The caller is alone with it, or has the lock.
  void look_at(Entry& entry) {
    const Coroutine& co = coroutines_[entry.index];
    const Seen seen = seen_of(co);
    entry.score = checked(co, policy_.score(&seen, policy_.state));
    entry.enough = seen.source ? entry.score > policies::LAST
                               : seen.queued >= std::min<uint64_t>(policy_.floor, seen.batch);
  }
  bool heaped() const noexcept { return policy_.score != nullptr && !policy_.rises; }
  // What a policy sees of a co-routine. The caller is alone with it, or it is ready and the caller
  // has the lock.
  Seen seen_of(const Coroutine& co) {
    Seen seen = graph_.seen(co.index, co.scheduled_ns, policy_.looks);
    seen.quantum_ns = quantum_ns_;
    seen.waits_for_all =
        co.waits == 0 ? 0.0 : static_cast<double>(co.waits_for_all) / static_cast<double>(co.waits);
    return seen;
  }
  // Graphs with `port_ends`, how many ends of ports there are, and `add_ports`, which appends those
  // of a co-routine, show them to users' policies.
  static constexpr bool SEES_PORTS =
      requires(Graph& graph, std::vector<SeenPort>& ports) { graph.add_ports(0u, ports); };
  // Shows them for as long as the policy is called: they are the thread's. As `seen_of`.
  void see_ports([[maybe_unused]] Thread& thread, [[maybe_unused]] Seen* first,
                 [[maybe_unused]] size_t count, [[maybe_unused]] const uint32_t* indices) {
    if constexpr (SEES_PORTS) {
      thread.ports.clear();
      for (size_t i = 0; i < count; ++i) graph_.add_ports(indices[i], thread.ports);
      const SeenPort* at = thread.ports.data();
      for (Seen* seen = first; seen < first + count; ++seen) {
        seen->input = at, at += seen->inputs;
        seen->output = at, at += seen->outputs;
      }
    }
  }
  struct Preemption {
    Coroutines* all;
    Coroutine* co;
    bool preempted;
  };
  bool preempted_by_policy(Coroutine& self) {
    if (self.thread->suspended.load(std::memory_order_relaxed)) return true;
    Preemption asked{this, &self, false};
    on_thread(self, ask_to_preempt, &asked);
    return asked.preempted;
  }
  static void ask_to_preempt(void* argument) {
    Preemption& asked = *static_cast<Preemption*>(argument);
    Coroutines& all = *asked.all;
    Seen seen = all.seen_of(*asked.co);
    seen.ran_ns = all.platform_.now() - asked.co->scheduled_ns;
    all.see_ports(*asked.co->thread, &seen, 1, &asked.co->index);
    const int32_t answer = all.policy_.preempts(&seen, all.policy_.preempts_state);
    if (answer < 0) all.graph_.refused(asked.co->index);
    asked.preempted = answer != 0;
  }
  // A score by which co-routines can be put in order.
  double checked(const Coroutine& co, double score) {
    if (score == score) return score;
    uint32_t none = NO_CO;
    refused_.compare_exchange_strong(none, co.index, std::memory_order_relaxed,
                                     std::memory_order_relaxed);
    return policies::LAST;
  }
  // Has the policy judge all that are ready. Under the lock, which it gives back meanwhile.
  void judge(Thread& thread) {
    thread.asked.clear();
    thread.seen.clear();
    for (const Entry& entry : ready_) {
      thread.asked.push_back(entry.index);
      thread.seen.push_back(seen_of(coroutines_[entry.index]));
    }
    see_ports(thread, thread.seen.data(), thread.seen.size(), thread.asked.data());
    thread.scores.resize(thread.asked.size());
    lock_.unlock();
    thread.judging.store(true, std::memory_order_relaxed);
    policy_.judge(thread.seen.data(), thread.asked.size(), thread.scores.data(), policy_.state);
    thread.judging.store(false, std::memory_order_relaxed);
    lock_.lock();
    for (size_t i = 0; i < thread.asked.size(); ++i) {
      Coroutine& co = coroutines_[thread.asked[i]];
      co.judged = checked(co, thread.scores[i]);
    }
  }
  void enter_ready(const Entry& entry) {  // under the lock
    coroutines_[entry.index].state.store(CoState::READY, std::memory_order_relaxed);
    coroutines_[entry.index].judged = policies::LAST;
    ready_.push_back(entry);
    if (heaped()) std::push_heap(ready_.begin(), ready_.end());
  }
  void make_ready(Coroutine& co) {
    const Entry entry = entry_of(co);
    lock_.lock();
    enter_ready(entry);
    Thread* called = call_one();
    lock_.unlock();
    if (called != nullptr) called->signal.wake_one();
  }
  void fall_asleep(Coroutine& co) {
    const Entry entry = entry_of(co);
    lock_.lock();
    if (over()) {
      enter_ready(entry);
    } else {
      co.state.store(CoState::ASLEEP, std::memory_order_relaxed);
      asleep_.push_back({co.wakes_ns, co.index});
      std::push_heap(asleep_.begin(), asleep_.end(), std::greater<>());
      if (asleep_.front().second == co.index && watch_ != nullptr)
        watch_->signal.wake_one();  // for an earlier time than it knows
    }
    lock_.unlock();
  }
  void wake_sleeper() {  // under the lock: the next one
    std::pop_heap(asleep_.begin(), asleep_.end(), std::greater<>());
    enter_ready(entry_of(coroutines_[asleep_.back().second]));
    asleep_.pop_back();
  }
  // On a stack of its own, under the lock or before the threads.
  void enter_new(Coroutine& co) {
    co.fibre.begin(stacks_.stack(co.index), stacks_.bytes(), enter, &co);
    enter_ready(entry_of(co));
  }
  void complete(Coroutine& co) {
    lock_.lock();
    if (co.again) {
      co.again = false;
      enter_new(co);
    } else {
      co.state.store(CoState::COMPLETED, std::memory_order_release);
      --open_;
    }
    lock_.unlock();
    for (const uint32_t port : co.inputs) {  // its senders need not wait any more
      platform_.fence();                     // BLOCKED
      for (const uint32_t writer : graph_.writers(port)) given_back(writer);
    }
  }

  // An idle thread, which is to be woken once the lock is given back; null: there is none. Under
  // the lock.
  Thread* call_one() {
    if (idle_.empty()) return nullptr;
    Thread* thread = idle_.back();
    idle_.pop_back();
    return thread;
  }
  // Wakes every thread that sleeps. Under the lock.
  void call_all() {
    while (Thread* thread = call_one()) thread->signal.wake_one();
    for (Thread* thread : suspended_) thread->signal.wake_one();
  }

  // The next one, instead of `preempted`, which is ready again; null: this thread is done. A thread
  // is done when all co-routines have completed; or, once the run is over, when another thread runs
  // each that has not. So a thread may be the only one left, with a co-routine that is preempted
  // and ready again. Therefore from the end on a thread picks even if it is suspended.
  Coroutine* pick(Thread& thread, Coroutine* preempted) {
    Entry entry{};
    if (preempted != nullptr) entry = entry_of(*preempted);
    int64_t now = platform_.now();
    bool judged = policy_.judge == nullptr, told = false;
    tell_of_refusal();
    lock_.lock();
    if (thread.busy) --running_;
    thread.busy = false;
    if (preempted != nullptr) enter_ready(entry);
    if (over()) call_all();  // what they wait for may be this
    for (;;) {
      while (!asleep_.empty() && asleep_.front().first <= now) wake_sleeper();
      if (open_ == 0 || (over() && ready_.empty() && asleep_.empty() && open_ <= running_)) {
        call_all();
        lock_.unlock();
        return nullptr;
      }
      // once the run is over, all other threads may have ended
      const bool suspended = thread.suspended.load(std::memory_order_relaxed) && !over();
      if (suspended || ready_.empty()) {
        if (!told && stuck_now()) {
          told = true;
          lock_.unlock();
          graph_.stuck();  // without the lock, since it may end the run
          lock_.lock();
        } else {
          rest(thread, suspended);
        }
      } else {
        if (judged || ready_.size() == 1) break;
        judge(thread);
        judged = true;
      }
      now = platform_.now();
    }
    Coroutine* co = &coroutines_[take(thread)];
    co->state.store(CoState::RUNNING, std::memory_order_relaxed);
    ++running_;
    thread.busy = true;
    Thread* called = !ready_.empty() || unwatched() ? call_one() : nullptr;
    lock_.unlock();
    if (called != nullptr) called->signal.wake_one();
    co->looked_ns = co->scheduled_ns = now;
    co->turn_ends_ns = now + quantum_ns_;
    co->looks_left = 0;
    ++co->turns;
    graph_.turn_begins(thread.index, co->index, now);
    return co;
  }
  // Deadlock. Under the lock. A co-routine changes its state and wakes others only while a thread
  // runs it. So if none is running, ready or asleep, nothing will ever happen again, unless other
  // threads than these do it. Edge OUTSIDE: a thread that reads that none of these is at work sees
  // the co-routines that they have made ready. The graph is called (stuck).
  bool stuck_now() const {
    return outside_.load(std::memory_order_acquire) == 0 && open_ > 0 && running_ == 0 &&
           ready_.empty() && asleep_.empty() && !over();
  }
  // Without the lock, since it ends the run.
  void tell_of_refusal() {
    const uint32_t co = refused_.load(std::memory_order_relaxed);
    if (co == NO_CO || over()) return;
    graph_.refused(co);
  }
  // Whether no thread wakes for the co-routines that are ASLEEP. Under the lock.
  bool unwatched() const noexcept { return !asleep_.empty() && watch_ == nullptr; }
  // Sleeps until there may be something to do. Under the lock, but for the sleep.
  void rest(Thread& thread, bool suspended) {
    if (suspended) {
      if (!ready_.empty() ||
          unwatched()) {  // it may have been woken for what it now leaves to others
        if (Thread* called = call_one()) called->signal.wake_one();
      }
    }
    std::vector<Thread*>& resting = suspended ? suspended_ : idle_;
    resting.push_back(&thread);
    graph_.rests(thread.index, suspended);
    if (!suspended && unwatched()) {
      watch_ = &thread;
      thread.signal.wait_until(lock_, asleep_.front().first);
      watch_ = nullptr;
    } else {
      thread.signal.wait(lock_);
    }
    graph_.wakes(thread.index, suspended);
    // If it was called it is not there any more; it may have woken for the time, or because its
    // level has changed.
    const auto place = std::find(resting.rbegin(), resting.rend(), &thread);
    if (place != resting.rend()) resting.erase(std::next(place).base());
  }
  // The ready co-routine that is next, taken from the set. Under the lock.
  uint32_t take(Thread& thread) {
    if (heaped()) {
      put_first_last();
    } else if (ready_.size() > 1) {
      const bool by_chance = policy_.score == nullptr && policy_.judge == nullptr;
      std::swap(ready_[by_chance ? (drawn(thread.chance) >> 32) * ready_.size() >> 32 : best()],
                ready_.back());
    }
    const uint32_t index = ready_.back().index;
    ready_.pop_back();
    return index;
  }
  // Takes the first one out of the heap: one whose score has fallen since it was looked at is put
  // back where it belongs.
  void put_first_last() {
    for (;;) {
      std::pop_heap(ready_.begin(), ready_.end());
      if (ready_.size() == 1) return;
      Entry& last = ready_.back();
      look_at(last);
      if (!(last < ready_.front())) return;
      std::push_heap(ready_.begin(), ready_.end());
    }
  }
  // The place of the highest of all, which are looked at now, or have just been judged. Under a
  // policy with a floor, which is none of C-Stream's, a reader that has not begun comes first: it
  // soon waits for its first tuple. Else, as all are ready to begin with, each is asked about for
  // each.
  size_t best() {
    size_t best = 0;
    for (size_t place = 0; place < ready_.size(); ++place) {
      Entry& entry = ready_[place];
      const Coroutine& co = coroutines_[entry.index];
      if (policy_.judge != nullptr) {
        entry.score = co.judged;
      } else if (policy_.floor > 0 && co.turns == 0 && !co.inputs.empty()) {
        return place;
      } else {
        look_at(entry);
      }
      if (ready_[best] < entry) best = place;
    }
    return best;
  }
  static uint64_t drawn(uint64_t& x) noexcept {  // xorshift64*
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    return x * 0x2545F4914F6CDD1D;
  }

  Graph& graph_;
  Platform platform_;
  const Policy& policy_;
  const int64_t quantum_ns_;
  Stacks stacks_;
  std::unique_ptr<Coroutine[]> coroutines_;
  const uint32_t count_;
  std::unique_ptr<Senders[]> senders_;
  Word<bool> over_{false};
  RareWord<uint32_t> refused_{NO_CO};  // the first whose score was not a number
  RareWord<uint32_t> outside_{
      0};  // threads that are none of these and change what co-routines may wait for
  Lock lock_;
  // under the lock
  std::vector<Entry> ready_;                          // a heap where scores do not rise
  std::vector<std::pair<int64_t, uint32_t>> asleep_;  // a heap: wake-up time, co-routine
  std::vector<Thread*> suspended_;                    // threads whose level was taken away, asleep
  std::vector<Thread*> idle_;  // threads that sleep for want of work; the last one is called first
  Thread* watch_ = nullptr;    // that wakes by itself for the first of those asleep
  uint32_t open_;              // have not completed
  uint32_t running_ = 0;       // run by a thread
};

}  // namespace millrace
