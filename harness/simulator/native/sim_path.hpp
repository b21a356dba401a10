// sim_path.hpp - virtual threads as a platform of the path of a tuple (path.hpp): its records, and
// what its steps cost.
//
// A worker owes what it has spent until pass(): the time has passed then, and it sees what others
// have done meanwhile. Locks, flags and queues charge the thread that acts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "path.hpp"
#include "simulation.hpp"
#include "slots.hpp"

namespace millrace::sim {

struct SimPlatform;
using SimPath = Path<SimPlatform>;

struct SimPlatform {
  template <class T>
  using Word = sim::Word<T>;
  using Lock = Mutex;

  using Discipline = sim::Discipline;
  using Operator = sim::Operator;
  using Port = sim::Port;
  using Route = sim::Route;
  using Run = Simulation;
  using Target = sim::Target;
  using Tuple = millrace::Tuple;
  using Worker = sim::Worker;

  using BalanceState = sim::BalanceState;
  using BarrierInput = sim::BarrierInput;
  using BarrierState = sim::BarrierState;
  using BurstState = millrace::BurstState;
  using MergeState = millrace::MergeState;
  using SinkState = millrace::SinkState;
  using SourceState = millrace::SourceState;
  using SplitState = sim::SplitState;
  // of users' operators, which are not simulated
  struct LoopInput;
  struct LoopState;
  struct NativeState;
  struct PythonState;
  struct TypedState;

  // A co-routine waits for one queue at a time here: graphs whose operators wait for two of their
  // ports at once have loops of their own, which are not simulated.
  static constexpr bool BEGINS_SEVERAL = false;

  static void pass(Worker* w) { w->run->pass(*w); }
  static void executes(Worker* w, Operator* op, Tuple* first, uint32_t count) {
    w->run->charge(*w, *op, first, count);
  }
  static void step(Worker* w, Step step, uint32_t count) {
    const Software& software = w->run->software;
    switch (step) {
      case Step::CHOOSE_WAY:
        w->mixed += software.way * w->run->publications(count) + software.way_tuple * count;
        break;
      case Step::CHOOSE_KEY:
        w->mixed += software.key_tuple * count;
        break;
      case Step::COPY:
        w->run->copy(*w, count, {});
        break;
      case Step::CUT:
        w->mixed += software.filter_cut;
        break;
      case Step::MARK:
        w->mixed += software.mark;
        break;
      case Step::SEARCH:
        w->mixed += software.search;
        break;
    }
  }
  static void drains(Worker* w, Port* port) {
    w->mixed += w->run->software.drain;
    w->run->touch(*w, port->emptied, CONSUMER_BYTES);
  }
  static void takes(Worker* w, Port* port, uint32_t count) {
    w->mixed += w->run->software.take_batch * w->run->publications(count);
    w->run->came_from(*w, port->ring, count);
  }
  // What becomes of the tuples of a merge is part of its costs, and so is all that a profile has
  // shown. Tuples of operators with a profile get new numbers.
  static void passes_on(Worker* w, Operator* op, Tuple* first, uint32_t count) noexcept {
    if (op->profile != nullptr) {
      for (uint32_t i = 0; i < count; ++i) {
        first[i].sequence = op->profile->numbers[0]++;
        first[i].path = 0;
      }
      op->routes[0].sent.add(count);
    } else if (op->kind != MERGE) {
      w->mixed += w->run->software.filter_run;
    }
  }
  static bool is_barrier(const Operator* op) noexcept { return op->kind == BARRIER; }

  // Returns the tuples of an input that a loop would take now: tuples of groups of ports in the
  // ratio of its profile, and of one group at most a batch more than the slowest lets it. It holds
  // back none that others could wait for, since no operator sends to two groups.
  static uint32_t room_in_step(const Operator* op, uint32_t input) {
    const Profile& profile = *op->profile;
    const InputGroup& group = profile.groups[profile.group_of[input]];
    double least = static_cast<double>(group.taken) / group.share;
    double smallest = group.share;
    for (const InputGroup& other : profile.groups) {
      smallest = std::min(smallest, other.share);
      if (other.open_streams > 0)
        least = std::min(least, static_cast<double>(other.taken) / other.share);
    }
    const double most = (least + MAX_BATCH / smallest) * group.share;
    return static_cast<uint32_t>(std::clamp(most - static_cast<double>(group.taken), 0.0, 1e9));
  }
  static void holds(Worker* w, Operator* op, uint32_t count) {
    if (op->profile != nullptr) return;
    const uint64_t slots = op->kind == MERGE
                               ? static_cast<MergeState*>(op->own)->mask + 1
                               : static_cast<BarrierState*>(op->own)->inputs[0].ring.capacity();
    w->run->copy(*w, count, {Line::NOBODY, 0, slots * w->run->slot_bytes});
  }
  static void has_merged(Worker* w, Operator* op) noexcept { op->line.store(w->core); }
  static void looks_at_merge(Worker* w, Operator* op) {
    w->run->pass(*w);
    w->run->look(*w, static_cast<SplitState*>(op->own)->behind->line);
  }
  // In the runtime, the flag of an empty queue is left alone.
  static void looks_at_queue(Worker* w, Port* port) {
    w->run->pass(*w);
    w->run->look(*w, port->ring.tail_line);
  }
  // A thread that is about to sleep takes a mutex.
  static void goes_to_sleep(Worker* w, Parking& parking) {
    w->run->rmw(*w, parking.queue.line, false);
    w->run->atomic(*w, parking.queue.line, true, w->run->software.lock);
    w->run->pass(*w);
  }
  static void goes_to_sleep(Worker* w, ReadyPorts& ready) {
    w->run->rmw(*w, ready.idle.line, false);
    w->run->pass(*w);
  }
  static void tell_watching(Worker* w, const Index& index) { w->run->tell_watching(index); }
  // Threads that look at an index are notified when it has changed.
  static bool unchanged(Worker* w, const Index& index, uint64_t seen) {
    Simulation& simulation = *w->run;
    simulation.pass(*w);
    if (simulation.patience > 0 && index == seen && !simulation.over) {
      index.watching.push_back(w);
      simulation.system.spin(*w, simulation.system.now + simulation.patience);
      std::erase(index.watching, w);
    }
    return index == seen && !simulation.over;
  }
  static void rest(Worker* w) noexcept { w->waiting += REST_NS * NANOSECOND; }
  static void yield(Worker* w) {
    w->run->system.make_call(*w, w->run->machine.yield);
    w->run->pass(*w);
    w->run->system.yield(*w);
  }
  static void spin(Worker* w, uint32_t* round, Port* port) { w->run->spin(*w, *round, port); }
  // A shortcut leads round the lock; what IBM Streams does holds a flag in its stead, always.
  static Mutex* call_lock(Port* port) noexcept {
    const bool shortcut = port->sole && port->mode == CALLED && !current()->software.printed;
    return shortcut ? nullptr : port->call_lock;
  }

  // A drain within a drain: the outer one is as slow as before, and goes on with its slots.
  class Outer {
   public:
    explicit Outer(Worker* w) noexcept : worker_(w), slow_(w->slow), slots_(w->slots) {}
    ~Outer() { worker_->slow = slow_, worker_->slots = slots_; }

   private:
    Worker* worker_;
    bool slow_;
    Slots slots_;
  };

  template <class Done>
  static bool watch(Worker*, Done) noexcept {
    return false;
  }
  // A threaded port has no flags, as P17 prints it (s2.2); any other has.
  static bool has_flags(Worker* w, Port* port) noexcept {
    return port->shared || (w->run->software.printed && port->discipline->pooled);
  }
  static void stamp(Worker* w, Port* port, uint32_t count) { w->run->stamp(*w, *port, count); }

  // A tuple is in its queue until it is worked on, however short the queue is.
  static bool take_out(Worker*, Port*, Tuple**, uint32_t) noexcept { return false; }
  static Route* made(Worker* w, Operator* op, uint32_t count) {
    return w->run->charge_source(*w, *op, count);
  }
  static void has_sent(Worker* w, Operator* op, uint32_t count) {
    if (!w->resumed) return;
    w->born_ns = static_cast<SourceState*>(op->own)->buffer->born_ns;
    w->taken += count;
    w->run->check_for_preemption(*w);
  }
  // The end of a stream takes the operator's lock like a tuple; along a chain of calls it is part
  // of the first one's.
  static void stream_ends(Worker* w, Operator* op) {
    if (op->lock == nullptr) return;
    Path<SimPlatform>::acquire(w, op->lock, op);
    op->lock->unlock();
  }
  static Mutex* lock_at_end(Operator*) noexcept { return nullptr; }
  static void ends_batch(Worker* w) {
    if (w->run->system.owed(*w) > System::LONGEST_STEP) w->run->pass(*w);
  }
  static void turns(Worker* w) {
    if (w->run->time_use.on)
      w->run->time_use.spend(*w, w->at, w->run->system.now + w->run->system.owed(*w));
  }
  static void begins_schedule(Worker*, SourceState*, int64_t) noexcept {}
  static void sleep_until(Worker* w, int64_t time, int64_t) {
    Simulation& simulation = *w->run;
    simulation.pass(*w);
    const Time then = std::min<Time>(static_cast<Time>(std::min<int64_t>(time, INT64_MAX / 2)),
                                     simulation.system.now + LONGEST_SLEEP);
    if (w->resumed) {
      simulation.sleep_as_coroutine(*w, then);
    } else {
      simulation.system.sleep(*w, then);
    }
  }
  // A thread of the pool ends when the run is over: its time matters to nobody.
  static void finish(Worker* w) {
    if (!w->pooled) w->run->pass(*w);
  }

  static int64_t clock(Worker* w) noexcept { return static_cast<int64_t>(w->run->system.now); }
  // 0 would mean: not sampled
  static int64_t born_ns(int64_t time) noexcept {
    return time / static_cast<int64_t>(NANOSECOND) + 1;
  }
  static int64_t now_ns(Worker* w) noexcept {
    return static_cast<int64_t>((w->run->system.now + w->run->system.owed(*w)) / NANOSECOND);
  }

 private:
  static constexpr Time LONGEST_SLEEP = 10 * MILLISECOND;
};

inline void end_run(Simulation* run) { run->over = true; }

}  // namespace millrace::sim
