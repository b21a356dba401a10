// state.hpp - what a simulated graph consists of: the records of harness/runtime/native/state.hpp
// in virtual time. No logic.
//
// Where the runtime has an atomic word that several threads touch, there is the value and a Line
// here, which says what touching it costs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "footprint.hpp"
#include "histogram.hpp"
#include "line.hpp"
#include "protocol.hpp"
#include "ring.hpp"
#include "stamps.hpp"
#include "system.hpp"
#include "tuple.hpp"

namespace millrace::sim {

struct Flag {
  bool held = false;
  Line line;
};

struct Mutex {
  bool held = false;
  WaitQueue queue;
};

struct Discipline;  // disciplines.hpp
struct Operator;
struct Port;
struct Worker;

struct Target {
  Operator* op = nullptr;
  Port* port = nullptr;
  uint32_t path_step = 0, input = 0;
  bool lazy_wake = false, early = false, wake_owed = false;
};

struct Route {
  std::vector<Target> targets;
  std::vector<Tuple> scratch;
  uint64_t sent = 0;
};

enum OperatorKind : uint32_t {
  SOURCE,
  WORK,
  BURSTS,
  FILTER,
  SPLIT,
  MERGE,
  BARRIER,
  BALANCE,
  BUFFER,
  SINK,
  CONTROL,
  TYPED
};

struct Pace {
  int64_t length_ps;  // 0: for ever
  double gap_ps;      // 0: as fast as allowed; below 0: silence
};

// An input of a barrier.
struct BarrierInput {
  std::deque<Tuple> held;
  std::vector<uint64_t> next_of_path;
  uint32_t open_streams = 0;
};

struct Operator {
  OperatorKind kind = WORK;
  bool resumed = false;        // a co-routine begins with it
  uint32_t most_replicas = 1;  // that it may have
  uint32_t index = 0, cost = 0;
  Mutex* lock = nullptr;
  Line line;  // its state, where several threads take turns
  Touch touch;
  std::vector<Route> routes;
  uint64_t processed = 0, emitted = 0, copies = 0, dropped = 0, left = 0;
  uint32_t turn = 0, order = 0, open_streams = 0;
  uint64_t fingerprints = 0;
  // source
  uint64_t sent = 0, limit = 0, window = 0, windows = 0;
  uint32_t batch = 1;
  std::vector<Tuple> buffer;
  std::vector<Pace> paces;
  uint32_t pace = 0;
  int64_t pace_began = 0;
  double pace_next = 0.0;
  // typed (and typed sources and sinks): what a profiled run has shown, by output port
  static constexpr uint32_t ONE =
      32;             // a tuple, as a power of two: `sends` and `owed` have fractions
  Time profiled = 0;  // that a tuple takes [ps], with all that the runtime does for it but queues
  std::vector<uint64_t> sends, owed, numbers;
  // bursts
  std::vector<uint64_t> ends;
  std::vector<uint32_t> costs;
  // filter, work: passes on those whose number, mixed with `seed`, comes out below `threshold`
  uint64_t seed = 0, threshold = 0;
  bool all = true;
  bool passes_on(uint64_t sequence) const noexcept {
    return all || passes(fingerprint(sequence ^ seed), threshold);
  }
  uint64_t keys = 0;  // of a split, 0: round-robin; or of an operator by key, 0: stateless
  // split
  uint32_t marks = 0, ahead = 0, wanted = 0;  // `wanted`: tuples that it waits to send
  Operator* merge = nullptr;
  std::vector<Port*> between;
  // merge
  std::vector<Tuple> slots;
  std::vector<uint8_t> present;
  std::deque<Tuple> waiting_marks;
  uint32_t next = 0, last_mark = 0;
  uint64_t held = 0, given_up = 0;
  bool overrun = false;
  Line next_line;
  // barrier
  std::vector<BarrierInput> inputs;
  uint64_t room_of_input = 0, sent_fingerprints = 0, discarded = 0;
  bool over = false;
  // balance
  uint32_t active = 0;
  std::vector<uint32_t> ways;
  uint64_t freed = 0;
  WaitQueue room;
  Line freed_line;
  bool waiting = false;
  // sink
  std::vector<uint64_t> next_of_path;
  uint64_t violations = 0, seen_windows = 0;
  Histogram* latency = nullptr;
};

struct Port {
  Ring ring;
  Operator* op = nullptr;
  const Discipline* discipline = nullptr;
  uint32_t index = 0, input = 0;
  bool shared = false;
  uint32_t wake_at = 1, most = 1, batch = 1, mode = QUEUED;
  WaitQueue arrivals, own_room;
  WaitQueue* room = nullptr;    // where producers wait for space
  Operator* balance = nullptr;  // of a buffer: whose
  Mutex* call_lock = nullptr;
  bool sole = false;  // as queues are now, all who send here are in one context
  Flag producing, consuming;
  Touch filled, emptied;  // by the producer, by the consumer
  bool ready = false;
  uint32_t wary = 0;      // how often it still leaves the list as soon as it is empty
  Line ready_line, node;  // `node`: its entry in the list of ready ports
  uint64_t pushes = 0, blocked = 0, given_up = 0, switches = 0, marks = 0, marks_taken = 0;
  uint32_t open_streams = 0;
  Worker* patient =
      nullptr;  // threaded: its thread, while it looks for tuples and has not gone to sleep yet
  std::vector<Worker*> patient_producers;
  std::vector<Worker*>
      spinning;  // who waits for the port's flags, or for room, and has not given its CPU away yet
  std::unique_ptr<Stamps> stamps;  // resumed, where the policy looks at times
  // since when a co-routine has waited for room; NEVER: nobody does, or there is some. And for how
  // long that was so until then
  Time full_since = NEVER, full_time = 0;
};

// Where the slots that a thread works on came from.
struct Slots {
  bool near = true;      // from caches of this core, or of the one that has filled them
  uint64_t kib = 0;      // ps to fetch 1 KiB of them
  uint64_t beyond = 0;   // which part of them comes from memory [1/Machine::PART]
  bool evicted = false;  // from a shared cache, which has them from another core
};

struct Worker : Thread {
  static constexpr uint32_t NO_COROUTINE = UINT32_MAX;
  bool pooled = false, suspended = false, slow = false;
  bool replica = false;  // of a co-routine that is one of its operator's replicas
  Rest rest = AWAKE;
  uint32_t at = 0;     // operator + 1
  uint32_t input = 0;  // by which input port comes what it hands to an operator
  Operator* op = nullptr;
  Port* port = nullptr;
  std::vector<Target*> owed;
  Port* unannounced = nullptr;
  uint64_t drains = 0, searches = 0, reschedules = 0, waits = 0, given_up_fingerprints = 0;
  Time idle_time = 0, idle_began = NEVER, asleep_time = 0, asleep_began = NEVER, born = 0;
  Slots slots;
  uint64_t last_alone = UINT64_MAX;   // the tuple that it worked on last, if that came alone
  uint32_t coroutine = NO_COROUTINE;  // whose record it is; else it is a thread's
  int64_t born_ns = 0;                // of a co-routine: when what it works on left its source

  // It has nothing to do from now on, or something again.
  void idle(bool begins, Time now) noexcept {
    if (begins == (idle_began != NEVER)) return;
    if (begins) {
      idle_began = now;
    } else {
      idle_time += now - idle_began;
      idle_began = NEVER;
    }
  }
};

// The list of ports that may be free (P17 Figure 3): its order, and the lines of its two ends and
// of the link behind the last port.
struct List {
  std::deque<uint32_t> ports;
  Line head, tail, link;
};

}  // namespace millrace::sim
