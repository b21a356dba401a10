// run_platform.hpp - the platform of the runtime: real threads (path.hpp says what a platform is).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "loops.hpp"
#include "path.hpp"
#include "stamps.hpp"
#include "state.hpp"
#include "thread.hpp"
#include "typed.hpp"
#include "uncharged.hpp"

namespace millrace {

struct RunPlatform : Uncharged {
  template <class T>
  using Word = std::atomic<T>;
  using Lock = std::mutex;

  using Discipline = millrace::Discipline;
  using Operator = millrace::Operator;
  using Port = millrace::Port;
  using Route = millrace::Route;
  using Run = millrace::Run;
  using Target = millrace::Target;
  using Tuple = millrace::Tuple;
  using Worker = millrace::Worker;

  using BalanceState = millrace::BalanceState;
  using BarrierInput = millrace::BarrierInput;
  using BarrierState = millrace::BarrierState;
  using BurstState = millrace::BurstState;
  using LoopInput = millrace::LoopInput;
  using LoopState = millrace::LoopState;
  using MergeState = millrace::MergeState;
  using NativeState = millrace::NativeState;
  using PythonState = millrace::PythonState;
  using SinkState = millrace::SinkState;
  using SourceState = millrace::SourceState;
  using SplitState = millrace::SplitState;
  using TypedState = millrace::TypedState;

  static constexpr int64_t LONGEST_SLEEP_NS = 10'000'000;  // then a source checks if it has to end

  // Tuples from a thread, not a co-routine, count as born now.
  static void stamp(Worker* worker, Port* port, uint32_t count) noexcept {
    port->stamps->stamp(port->ring.tail().load(std::memory_order_relaxed),
                        port->ring.head().load(std::memory_order_acquire), count,
                        worker->resumed ? worker->born_ns : now_ns(worker),
                        [worker] { return now_ns(worker); });
  }
  static Route* made(Worker* worker, Operator* op, uint32_t count) noexcept {
    worker->born_ns = static_cast<SourceState*>(op->own)->buffer->born_ns;
    worker->taken += count;
    return op->routes;
  }
  // Tuples taken out of a queue take no room in it (Algorithm 3); in a short queue they would leave
  // none. Returns true if they are taken out: `first` is where they are now.
  static bool take_out(Worker* worker, Port* port, Tuple** first, uint32_t count) noexcept {
    if (port->ring.capacity() >= MAX_BATCH) return false;
    std::memcpy(worker->taken_out, *first, count * port->ring.stride());
    *first = reinterpret_cast<Tuple*>(worker->taken_out);
    return true;
  }
  template <class Any>  // co-routines are defined elsewhere (coroutine_run.hpp)
  static void has_sent(Any* worker, Operator*, uint32_t) {
    if (worker->resumed) worker->run->coroutines->check_for_preemption(worker);
  }
  static void begins_schedule(Worker*, SourceState* source, int64_t now) noexcept {
    if (source->pace_began != 0) return;
    source->pace_began = now;
    millrace::sharpen_timer();
  }
  template <class Any>
  static void sleep_until(Any* worker, int64_t time, int64_t now) {
    if (worker->resumed) {
      worker->run->coroutines->sleep_until(worker, std::min(time, now + LONGEST_SLEEP_NS));
    } else {
      worker->run->ended.sleep_for(std::min(time - now, LONGEST_SLEEP_NS), worker->run->over);
    }
  }
  static void finish(Worker* worker) noexcept {
    if (!worker->resumed) worker->thread.finish();
  }
  // Looks for a while at what other threads do, where each has a CPU to itself: sleeping and waking
  // takes longer. Returns `done()`.
  template <class Done>
  static bool watch(Worker* worker, Done done) {
    for (uint32_t looks = worker->run->patience; looks > 0; --looks) {
      if (done()) return true;
      pause(worker);
    }
    return done();
  }
  // Whether the other side of a queue has not moved, for as long as looking is worth the while.
  static bool unchanged(Worker* worker, const Word<uint64_t>& word, uint64_t seen) {
    return !watch(worker, [&] { return word.load(std::memory_order_acquire) != seen; });
  }
  // Leaves the queues alone for a moment.
  static void rest(Worker* worker) {
    const int64_t until = now_ns(worker) + REST_NS;
    while (now_ns(worker) < until) pause(worker);
  }
  using Outer = OuterDrain<Worker>;

  static int64_t clock(Worker* worker) noexcept { return now_ns(worker); }
  static int64_t born_ns(int64_t time) noexcept { return time; }
  static int64_t now_ns(Worker*) noexcept { return millrace::now_ns(); }
  static void pause(Worker*) noexcept { pause_core(); }
  static void yield(Worker*) noexcept { yield_thread(); }
  static void spin(Worker*, uint32_t* round, Port*) noexcept { millrace::spin(round); }
};

}  // namespace millrace
