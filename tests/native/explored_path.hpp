// explored_path.hpp - the path of a tuple on the platform of explore.hpp: scheduled ports, threads
// that send to them, and scheduler threads. Records have what these need of state.hpp. What is only
// counted is no word, so that it is no place for an interruption.
#pragma once

#include "explore.hpp"
#include "free_list.hpp"
#include "parking.hpp"
#include "path.hpp"
#include "ready_flag.hpp"
#include "ready_ports.hpp"
#include "spsc_ring.hpp"
#include "try_flag.hpp"
#include "uncharged.hpp"

namespace explore {

// Counters, stopwatches, and words that tell others what a thread does.
class Told {
 public:
  void add(uint64_t by) { value_ += by; }
  uint64_t read() const { return value_; }
  void start() {}
  void stop() {}
  uint64_t load(Order = Order::seq_cst) const { return value_; }
  void store(uint64_t value, Order = Order::seq_cst) { value_ = value; }
  uint64_t fetch_add(uint64_t by, Order = Order::seq_cst) {
    return std::exchange(value_, value_ + by);
  }
  uint64_t fetch_sub(uint64_t by, Order = Order::seq_cst) {
    return std::exchange(value_, value_ - by);
  }

 private:
  uint64_t value_ = 0;
};

[[noreturn]] inline void left_out() { world.fail("a part of the path that is not explored"); }

struct Operator;
struct Port;
struct Run;
struct Target;
struct Worker;
using Tuple = millrace::Tuple;
using Parking = millrace::BasicParking<Platform>;

struct Discipline {
  bool pooled;
  void* (*body)(void*);
  void (*published)(Worker*, Target*);
  void (*wait_for_room)(Worker*, Port*, uint32_t*);
};

// None is ever made.
struct Coroutines {
  bool first(const Worker*) const { left_out(); }
  void end() { left_out(); }
};
struct Stamps {};

struct Target {
  Operator* op = nullptr;
  Port* port = nullptr;
  uint32_t path_step = 0, input = 0;
  bool early = false;
  Operator* from = nullptr;
  Word<bool> direct{false};
  uint32_t stride = 0;
  char* scratch = nullptr;
};

struct Route {
  Target* targets = nullptr;
  uint32_t count = 0, stride = 0;
  char* scratch = nullptr;
};

struct Operator {
  int32_t (*kernel)(Operator*, Worker*, Tuple*, uint32_t) = nullptr;
  Word<Operator*> next{nullptr};
  Lock* lock = nullptr;
  Told processed;
  Route* routes = nullptr;
  uint32_t next_path_step = 0, outputs = 0, index = 0;
  bool (*mark)(Operator*, Worker*, Tuple*) = nullptr;
  void (*stream_ended)(Operator*, Worker*) = nullptr;
  void (*closes)(Operator*, Worker*) = nullptr;
  uint32_t open_streams = 0;
  uint64_t copies = 0;
  bool ended = false;
  void* own = nullptr;
};

struct Port {
  millrace::BasicSpscRing<Platform> ring;
  Operator* op = nullptr;
  const Discipline* discipline = nullptr;
  Parking *arrivals = nullptr, *room = nullptr;
  uint32_t index = 0, input = 0;
  bool shared = false;
  Stamps* stamps = nullptr;
  Lock* call_lock = nullptr;
  Target** feeders = nullptr;
  uint32_t feeder_count = 0;
  Word<bool> sole{false};
  Word<uint32_t> mode{0}, most{1}, batch{1};
  millrace::BasicTryFlag<Platform> producing, consuming;
  millrace::BasicReadyFlag<Platform> ready;
  Told pushes, blocked, given_up, switches, unended;
  millrace::BasicCounter<Platform> marks;
  uint32_t open_streams = 0, wary = 0;
  uint64_t marks_taken = 0;
};

struct Worker {
  Word<bool> stop{false};
  bool pooled = false;
  Word<uint64_t> suspended{0};
  Told rest, at, drains, searches, reschedules, waits, idle, asleep;
  Run* run = nullptr;
  Target* begun = nullptr;
  Port* unannounced = nullptr;
  uint32_t owed_count = 0, input = 0;
  bool slow = false, replica = false;
  uint64_t pushed = 0, given_up_fingerprints = 0;
  int64_t born_ns = 0;
  Parking pause;
};

struct Run {
  size_t stride = 0;
  Port* ports = nullptr;
  uint32_t port_count = 0;
  Worker* workers = nullptr;
  uint32_t worker_count = 0;
  Coroutines* coroutines = nullptr;
  Worker* co_workers = nullptr;
  uint32_t co_worker_count = 0;
  millrace::BasicReadyPorts<Platform>* ready = nullptr;
  millrace::Contexts* contexts = nullptr;
  Tuple* final_punctuation = nullptr;
  Told gave_up;
  Word<uint32_t> open_operators{0};
  Word<bool> over{false};
  Parking ended;
};

struct PathPlatform : Platform, millrace::Uncharged {
  using Discipline = explore::Discipline;
  using Operator = explore::Operator;
  using Port = explore::Port;
  using Route = explore::Route;
  using Run = explore::Run;
  using Target = explore::Target;
  using Tuple = millrace::Tuple;
  using Worker = explore::Worker;

  struct BalanceState;
  struct BarrierInput;
  struct BarrierState;
  struct BurstState;
  struct LoopInput;
  struct LoopState;
  struct MergeState;
  struct NativeState;
  struct PythonState;
  struct SinkState;
  struct SourceState;
  struct SplitState;
  struct TypedState;

  using Outer = millrace::OuterDrain<Worker>;

  // Members for parts that are not explored are left out, or fail.
  static void finish(Worker*) {}
  static void stamp(Worker*, Port*, uint32_t) { left_out(); }
  static void rest(Worker*) { left_out(); }

  static int64_t now_ns(Worker*) { return world.now(); }
  static void pause(Worker*) { world.yield(Where::current()); }
  static void yield(Worker*) { world.yield(Where::current()); }
  static void spin(Worker*, uint32_t* round, Port*) {
    ++*round;
    world.yield(Where::current());
  }
};

}  // namespace explore

namespace millrace {

// Of co-routines and threaded ports, which are not explored here.
using ExploredPath = Path<explore::PathPlatform>;
template <>
inline void ExploredPath::hold_back(Worker*, Tuple*, uint32_t) {
  explore::left_out();
}
template <>
inline void ExploredPath::put_off(Worker*, Target*, Tuple*, size_t, uint32_t) {
  explore::left_out();
}
template <>
inline void ExploredPath::end(Worker*, Target*) {
  explore::left_out();
}
template <>
inline void ExploredPath::wake_owed(Worker*) {
  explore::left_out();
}

}  // namespace millrace
