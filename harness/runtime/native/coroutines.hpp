// coroutines.hpp - operators as co-routines on any number of threads: states, wait conditions, who runs next (C-Stream s3.2).
//
//   READY          it can go on, and is in the set that threads pick from
//   RUNNING        a thread executes it
//   READ_BLOCKED   it waits for tuples at input ports, WRITE_BLOCKED   for room at an input port downstream
//   CLAIMED        a thread looks whether it can go on
//   COMPLETED      it has returned
//
// A co-routine never changes its own state: it switches to the stack of its thread, which does (settle). So nobody can run it while it is
// still on its stack. Who runs, claims or has picked a co-routine is alone with it (ALONE).
//
// No lost wake-up. A port changes, then its side looks at the state of who may wait for it; a thread stores the blocked state, then looks at the
// ports. Between the store and the look of each there is a fence, so in the one order of these fences either the port's side sees the blocked
// state, or the blocking side sees the change. Edge BLOCKED: the two fences. Who sees that a blocked co-routine can go on takes it by a
// compare-exchange (edge CLAIM), and is the only one that makes it ready. A claim that proves wrong is taken back by settle(), which looks again.
// What a co-routine waits for may be read while another thread has claimed it meanwhile and it waits for something else: the reader acts on
// its look by a claim alone, and looks again once it has it.
//
// The end. Over (a stop, or a failure) makes every blocked co-routine able to go on: its wait says so, and its push gives up. A thread is
// done when all co-routines have completed.
//
// `Platform` says what words, locks, clocks, fibres and sleep are: those of this machine, or virtual ones. `Graph` says what is at ports.
// Checked by: tests/native/stress_coroutines.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "fibre.hpp"
#include "policies.hpp"

namespace millrace {

enum class CoState : uint32_t { READY, RUNNING, READ_BLOCKED, WRITE_BLOCKED, CLAIMED, COMPLETED };
enum class WaitMode : uint32_t { ALL, ANY };
enum class Waited : uint32_t { DONE, OVER };

inline constexpr uint32_t NO_CO = UINT32_MAX;

template <class Platform, class Graph>
class Coroutines {
 public:
  template <class T>
  using Word = typename Platform::template Word<T>;

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
    Word<uint32_t> full{NO_CO};  // the port that has no room
    // what policies see
    int64_t scheduled_ns = 0, turn_ends_ns = 0;
    uint64_t turns = 0;
    typename Platform::Fibre fibre;
  };

  // A thread that executes co-routines.
  struct Thread {
    uint32_t index = 0;
    typename Platform::Fibre own;
    uint64_t chance = 0x9E3779B97F4A7C15;
    void (*call)(void*) = nullptr;  // what a co-routine wants to be done on the thread's own stack
    void* argument = nullptr;
  };

  Coroutines(Graph& graph, uint32_t count, const Policy& policy, int64_t quantum_ns)
      : graph_(graph), policy_(policy), quantum_ns_(quantum_ns), coroutines_(new Coroutine[count]), count_(count), open_(count) {
    for (uint32_t i = 0; i < count; ++i) {
      coroutines_[i].index = i;
      coroutines_[i].all = this;
    }
    ready_.reserve(count);
  }

  Coroutine& operator[](uint32_t index) noexcept { return coroutines_[index]; }

  // Before the threads. Stacks of `bytes` each; false: the system refuses them.
  bool begin(size_t bytes) {
    if (!stacks_.reserve(count_, bytes)) return false;
    for (uint32_t i = 0; i < count_; ++i) {
      Coroutine& co = coroutines_[i];
      co.need.reset(new Word<uint32_t>[co.inputs.size() + 1]());
      co.fibre.begin(stacks_.stack(i), stacks_.bytes(), enter, &co);
      ready_.push_back(i);
    }
    return true;
  }

  // What a thread does until all co-routines have completed.
  void work(Thread& thread) {
    thread.own.adopt_thread();
    while (Coroutine* co = pick(thread)) {
      Request request;
      for (;;) {
        co->thread = &thread;
        request = static_cast<Request>(reinterpret_cast<uintptr_t>(thread.own.switch_to(co->fibre, &thread)));
        if (request != CALL) break;
        thread.call(thread.argument);
      }
      switch (request) {
        case READ:
          settle(*co, CoState::READ_BLOCKED);
          break;
        case WRITE:
          settle(*co, CoState::WRITE_BLOCKED);
          break;
        case PREEMPTED:
          make_ready(*co);
          break;
        default:
          complete(*co);
      }
    }
  }

  // -- for co-routines, on their own stacks -----------------------------------------------------------------------------------------------

  // Waits until `need[i]` tuples are at input i, of all or of any (Algorithms 1 and 2). OVER: that will never be.
  Waited wait(Coroutine& self, WaitMode mode) {
    self.mode.store(static_cast<uint32_t>(mode), std::memory_order_relaxed);
    for (;;) {
      if (satisfied(self)) {
        check_for_preemption(self);
        return Waited::DONE;
      }
      if (hopeless(self)) return Waited::OVER;
      leave(self, READ);
    }
  }
  // Waits until the port has room, or the run is over: one round of Algorithm 3.
  void wait_for_room(Coroutine& self, uint32_t port) {
    self.full.store(port, std::memory_order_relaxed);
    if (!over() && graph_.room(port) == 0) leave(self, WRITE);
    self.full.store(NO_CO, std::memory_order_relaxed);
  }
  void check_for_preemption(Coroutine& self) {
    if (platform_.now() >= self.turn_ends_ns) leave(self, PREEMPTED);
  }
  // Has something done on the thread's own stack, which is as large as a thread's: users' code, the interpreter.
  void on_thread(Coroutine& self, void (*call)(void*), void* argument) {
    self.thread->call = call;
    self.thread->argument = argument;
    leave(self, CALL);
  }

  // -- for whoever changes a port ---------------------------------------------------------------------------------------------------------

  // After tuples were published (Algorithm 7), or the port has closed.
  void written(uint32_t port) {
    platform_.fence();  // BLOCKED
    Coroutine& reader = coroutines_[graph_.reader(port)];
    if (reader.state.load(std::memory_order_acquire) == CoState::READ_BLOCKED) try_wake(reader, CoState::READ_BLOCKED);
  }
  // After tuples were taken (Algorithm 8).
  void read(uint32_t port) {
    platform_.fence();  // BLOCKED
    for (const uint32_t writer : graph_.writers(port)) {
      Coroutine& co = coroutines_[writer];
      if (co.state.load(std::memory_order_acquire) == CoState::WRITE_BLOCKED && co.full.load(std::memory_order_relaxed) == port)
        try_wake(co, CoState::WRITE_BLOCKED);
    }
  }

  // -- for the engine ---------------------------------------------------------------------------------------------------------------------

  bool over() const noexcept { return over_.load(std::memory_order_acquire); }
  void end() {
    over_.store(true, std::memory_order_seq_cst);
    platform_.fence();  // BLOCKED
    for (uint32_t i = 0; i < count_; ++i) {
      const CoState state = coroutines_[i].state.load(std::memory_order_acquire);
      if (state == CoState::READ_BLOCKED || state == CoState::WRITE_BLOCKED) try_wake(coroutines_[i], state);
    }
  }
  // Lets the threads below `level` pick; the others sleep as soon as their co-routine lets go of them.
  void set_level(uint32_t level) {
    lock_.lock();
    level_ = level;
    lock_.unlock();
    signal_.wake_all();
  }

 private:
  enum Request : uintptr_t { READ = 1, WRITE, PREEMPTED, COMPLETED, CALL };

  static void enter(void* argument, void*) {
    Coroutine& self = *static_cast<Coroutine*>(argument);
    self.fibre.arrived();
    self.body(self);
    self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(COMPLETED), true);
  }
  void leave(Coroutine& self, Request request) { self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(request)); }

  bool satisfied(const Coroutine& co) const {
    const bool any = co.mode.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitMode::ANY);
    for (size_t i = 0; i < co.inputs.size(); ++i) {
      const uint32_t need = co.need[i].load(std::memory_order_relaxed);
      if (need > 0 && (graph_.size(co.inputs[i]) >= need) == any) return any;
    }
    return !any;
  }
  // Whether what it waits for can never be: ports are closed, or the run is over.
  bool hopeless(const Coroutine& co) const {
    if (over()) return true;
    const bool any = co.mode.load(std::memory_order_relaxed) == static_cast<uint32_t>(WaitMode::ANY);
    for (size_t i = 0; i < co.inputs.size(); ++i) {
      const uint32_t need = co.need[i].load(std::memory_order_relaxed);
      if (need == 0) continue;
      const bool never = graph_.closed(co.inputs[i]) && graph_.size(co.inputs[i]) < need;  // closed first: what came before it is seen
      if (never != any) return never;
    }
    return any;
  }
  bool may_go_on(const Coroutine& co, CoState blocked) const {
    if (blocked == CoState::READ_BLOCKED) return satisfied(co) || hopeless(co);
    const uint32_t port = co.full.load(std::memory_order_relaxed);
    return over() || port == NO_CO || graph_.room(port) > 0;
  }

  // The caller is alone with it, and lets go of it: it is blocked from now on, or ready.
  void settle(Coroutine& co, CoState blocked) {
    for (;;) {
      co.state.store(blocked, std::memory_order_release);  // CLAIM
      platform_.fence();                                   // BLOCKED
      if (!may_go_on(co, blocked)) return;
      if (!claim(co, blocked)) return;  // whoever was faster sees to it
      if (may_go_on(co, blocked)) return make_ready(co);
    }
  }
  void try_wake(Coroutine& co, CoState blocked) {
    if (!may_go_on(co, blocked) || !claim(co, blocked)) return;
    if (may_go_on(co, blocked)) {
      make_ready(co);
    } else {
      settle(co, blocked);
    }
  }
  bool claim(Coroutine& co, CoState blocked) {
    return co.state.compare_exchange_strong(blocked, CoState::CLAIMED, std::memory_order_acq_rel, std::memory_order_relaxed);  // CLAIM
  }

  void make_ready(Coroutine& co) {
    lock_.lock();
    co.state.store(CoState::READY, std::memory_order_relaxed);
    ready_.push_back(co.index);
    lock_.unlock();
    signal_.wake_one();
  }
  void complete(Coroutine& co) {
    lock_.lock();
    co.state.store(CoState::COMPLETED, std::memory_order_release);
    const bool last = --open_ == 0;
    lock_.unlock();
    if (last) signal_.wake_all();
  }

  // The next one; null: all have completed.
  Coroutine* pick(Thread& thread) {
    lock_.lock();
    while (open_ > 0 && (ready_.empty() || thread.index >= level_)) signal_.wait(lock_);
    Coroutine* co = nullptr;
    if (open_ > 0) {
      const size_t place = ready_.size() == 1 ? 0 : best(thread);
      co = &coroutines_[ready_[place]];
      ready_[place] = ready_.back();
      ready_.pop_back();
      co->state.store(CoState::RUNNING, std::memory_order_relaxed);
    }
    const bool more = !ready_.empty();
    lock_.unlock();
    if (co == nullptr) return nullptr;
    if (more) signal_.wake_one();
    co->scheduled_ns = platform_.now();
    co->turn_ends_ns = co->scheduled_ns + quantum_ns_;
    ++co->turns;
    return co;
  }
  size_t best(Thread& thread) {
    if (policy_.score == nullptr) return static_cast<size_t>(chance(thread) * static_cast<double>(ready_.size()));
    size_t best = 0, equal = 0;
    double highest = 0.0;
    bool found = false, enough = false;
    for (size_t place = 0; place < ready_.size(); ++place) {
      const Coroutine& co = coroutines_[ready_[place]];
      const Seen seen = graph_.seen(co.index, co.scheduled_ns);
      const bool has_enough = seen.source || seen.queued >= policy_.floor;
      if (found && enough && !has_enough) continue;
      const double score = policy_.score(seen, chance(thread));
      if (!found || (has_enough && !enough) || score > highest) {
        best = place, highest = score, equal = 1, found = true, enough = has_enough;
      } else if (score == highest && chance(thread) * static_cast<double>(++equal) < 1.0) {
        best = place;
      }
    }
    return best;
  }
  static double chance(Thread& thread) noexcept {  // xorshift64*
    uint64_t& x = thread.chance;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    return static_cast<double>((x * 0x2545F4914F6CDD1D) >> 11) * 0x1p-53;
  }

  Graph& graph_;
  Platform platform_;
  const Policy& policy_;
  const int64_t quantum_ns_;
  Stacks stacks_;
  std::unique_ptr<Coroutine[]> coroutines_;
  const uint32_t count_;
  Word<bool> over_{false};
  typename Platform::Lock lock_;
  typename Platform::Signal signal_;  // under the lock: somebody is ready, a level has changed, all have completed
  std::vector<uint32_t> ready_;       // under the lock, in no order
  uint32_t open_;                     // under the lock
  uint32_t level_ = UINT32_MAX;       // under the lock
};

}  // namespace millrace
