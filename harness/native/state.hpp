// state.hpp - the records of a running graph, laid out by the threads that touch them. The logic is
// in path.hpp.
//
//   Operator   one cache line with all that a call needs, constants and a counter of the executing
//              thread; one line for what is needed more rarely
//   Port       an input port with a queue: constants and its mode; the producers' line; the
//              consumers' line
//   Route      the targets of one output port
//   Worker     a thread that executes operators, or a co-routine, with its own flags and counters
//              (LOCAL)
//   Run        what all threads share; read-mostly while tuples flow
//
// Access. One thread at a time executes an operator: through its only queued port
// (Port::consuming), as part of the region of one thread, or under Operator::lock, which the plan
// sets only where more than one thread can reach it (ALONE).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "activity.hpp"
#include "contexts.hpp"
#include "counter.hpp"
#include "histogram.hpp"
#include "parking.hpp"
#include "protocol.hpp"
#include "ready_flag.hpp"
#include "ready_ports.hpp"
#include "sizes.hpp"
#include "spsc_ring.hpp"
#include "stopwatch.hpp"
#include "thread.hpp"
#include "try_flag.hpp"
#include "tuple.hpp"

namespace millrace {

struct Chosen;
struct Operator;
struct Port;
struct Target;
struct LoopState;
struct TypedState;
struct Worker;
struct Run;
class CoroutineRun;  // coroutine_run.hpp
class Stamps;        // stamps.hpp

// Works on `count` data tuples that lie `run->stride` apart, in place. Returns the output port to
// which all of them go, or one of the codes below.
using Kernel = int32_t (*)(Operator*, Worker*, Tuple*, uint32_t);
inline constexpr int32_t HANDLED = -1;  // the kernel has delivered, kept or dropped them itself

// What an operator does with a window punctuation, in place; returns whether it goes on from here.
using MarkKernel = bool (*)(Operator*, Worker*, Tuple*);

// What an operator does when a stream into it has ended, besides closing with the last one.
using StreamEnd = void (*)(Operator*, Worker*);

// A user's operator (graph.native): may change the value; returns 1 = pass the tuple on, 0 = drop
// it, below 0 = an error. `control` is the value of the last tuple at its control port.
using NativeFunction = int32_t (*)(uint64_t sequence, double* value, char* payload,
                                   uint64_t payload_bytes, double control, void* state);

// What a kind of queue means to the threads that send to a port and to those that execute it
// (disciplines.hpp).
struct Discipline {
  bool pooled;           // the pool executes its ports, whose queues may be switched off
  void* (*body)(void*);  // of the threads, or of the co-routines, that execute its ports
  // The port of the target has got tuples.
  void (*published)(Worker*, Target*);
  // A round of waiting before a full queue; `round` counts, from 0.
  void (*wait_for_room)(Worker*, Port*, uint32_t* round);
};

struct Target {
  Operator* op;
  Port* port;          // null: the operator is always executed by a call
  uint32_t path_step;  // added to the path of a tuple that goes this way
  uint32_t input;      // which input port of the operator it leads to
  // threaded port: one thread alone sends this way, so it may put off waking the port's thread
  bool lazy_wake;
  bool early;                // within one delivery: it was queued before siblings were called
  bool wake_owed;            // threaded port: it has put it off, and still has to
  Operator* from;            // the operator whose only way this is; null if it has others
  std::atomic<bool> direct;  // of any other: shortcut() is set
  uint32_t stride;           // of a slot
  char* scratch;  // coroutine model, called beside siblings: room for its own copies; else null
  // what a worker still has to send this way (submit.hpp), `spacing` bytes apart; and the next one
  // below in Worker::begun
  Tuple* rest;
  size_t spacing;
  uint32_t left;
  Target* below;
};

struct Route {
  Target* targets;
  uint32_t count;
  uint32_t stride;  // of a slot
  char* scratch;    // room for the copies that called siblings may change; null if none can
  Counter sent;     // tuples, of operators that choose the output port by the tuple
};

struct Operator {
  alignas(CACHE_LINE) Kernel kernel;
  double factor;  // of the multiplies: exactly 1.0, read at run time (flop.hpp)
  // the one operator behind the one output port while that is called without a lock; else null
  // (switching.hpp)
  std::atomic<Operator*> next;
  std::mutex* lock;   // null: the plan has proved that one thread at a time gets here (P17 s5.2)
  Counter processed;  // data tuples
  Route* routes;      // by output port
  uint32_t cost;      // multiplies a tuple
  uint32_t next_path_step;
  uint32_t outputs;
  uint32_t index;                       // in the graph's order
  alignas(CACHE_LINE) MarkKernel mark;  // null: window punctuations are passed on as they are
  StreamEnd stream_ended;               // null: nothing
  StreamEnd closes;                     // before its final punctuation goes out; null: nothing
  uint32_t turn;                        // the output port that is next (round-robin)
  uint32_t order;                       // split: tuples stamped so far
  uint32_t open_streams;                // incoming streams that have not ended
  uint64_t copies;  // how many sinks see a tuple from here; 0: it depends on the tuple
  // fingerprints of the tuples that went no further, each as often as sinks would have seen it
  uint64_t dropped;
  Counter emitted;  // tuples sent on by operators that may drop or hold them
  // tuples of a batch that a user's operator was not executed on any more: the run was cut short
  uint64_t left;
  Chosen* chosen;  // which tuples it passes on; null: all
  // its control port, as an operator that absorbs the tuples there; null if it has none
  Operator* control;
  bool drops;         // a user's function may drop tuples; else a dropped one is a lost one
  bool ended;         // it has sent final punctuation before the last stream into it has ended
  bool reentrant;     // its function is called without the lock: it locks its own state
  void* own;          // state of its kind
  TypedState* typed;  // of a typed operator, source or sink; else null (typed.hpp)
  LoopState* loop;    // of an operator with a loop of its own; else null (loops.hpp)
};
static_assert(offsetof(Operator, mark) == CACHE_LINE, "what a call needs fits in one line");

// The way leads to the operator itself, without a look at the port: while its queue is off and no
// other thread can be in it (switching.hpp).
template <class Target>
void set_shortcut(Target* target) noexcept {
  if (target->from != nullptr) {
    target->from->next.store(target->op, std::memory_order_seq_cst);
  } else {
    target->direct.store(true, std::memory_order_seq_cst);
  }
}
template <class Target>
void remove_shortcut(Target* target) noexcept {
  if (target->from != nullptr) {
    target->from->next.store(nullptr, std::memory_order_seq_cst);
  } else {
    target->direct.store(false, std::memory_order_seq_cst);
  }
}

struct Port {
  alignas(CACHE_LINE) SpscRing ring;
  Operator* op;
  const Discipline* discipline;  // what kind of queue it is
  uint32_t index;                // among the ports with queues: its name on the list of ready ports
  uint32_t input;                // which input port of the operator it is
  bool shared;                   // more than one thread may produce: the producer flag is needed
  // threaded, resumed: tuples in the queue at which their consumer is woken at the latest
  std::atomic<uint32_t> wake_at;
  Parking* arrivals;  // threaded: where the port's thread waits for tuples; else null
  Parking* room;  // threaded, and resumed where threads send: where these wait for space; else null
  Stamps* stamps;                // resumed: since when its tuples wait; null if no policy asks
  std::atomic<uint64_t>* freed;  // of a buffer: changed before a producer is woken; else null
  // scheduled: held by a thread that calls, where more than one thread may; else null
  std::mutex* call_lock;
  Target** feeders;  // scheduled: the ways that lead here
  uint32_t feeder_count;
  // scheduled: as queues are now, all senders to this port are in one context (contexts.hpp)
  std::atomic<bool> sole;
  std::atomic<uint32_t> mode;  // scheduled: of Mode
  // tuples that a scheduler thread takes from the queue before it looks for another port
  std::atomic<uint32_t> most;
  std::atomic<uint32_t> batch;  // tuples a drain hands to the operator at once
  alignas(CACHE_LINE) TryFlag producing;
  // scheduled: on the list of ready ports, or with the thread that took it from there
  ReadyFlag ready;
  Counter pushes;   // batches
  Counter blocked;  // batches that had to wait: the queue was full or the producer side taken
  // tuples that blocked producers dropped because the run was cut short
  std::atomic<uint64_t> given_up;
  Counter switches;  // times that the queue came or went; the producer side counts
  // punctuations put into the queue, counted before they are published: the consumer need not look
  // for them
  Counter marks;
  alignas(CACHE_LINE) TryFlag consuming;
  // resumed: streams whose final punctuation is not in the queue yet
  std::atomic<uint32_t> unended;
  uint32_t open_streams;  // streams into this port that have not ended
  uint64_t marks_taken;   // punctuations taken from the queue
  // scheduled: how often it still leaves the list of ready ports as soon as it is empty
  uint32_t wary;
};

// A stretch of a source's schedule (sources.hpp), in the unit of the platform's clock.
struct Pace {
  int64_t length;  // how long it lasts; 0: for ever
  double gap;      // between tuples; 0: as fast as allowed; below 0: silence
};

struct SourceState {
  uint64_t sent;   // tuples, the sequence number of the next
  uint64_t limit;  // stop after so many
  uint64_t fingerprints;
  uint64_t window;   // tuples between window punctuations; 0: none
  uint64_t windows;  // punctuations sent
  Tuple* buffer;     // `room` slots
  uint32_t room;
  std::atomic<uint32_t> batch;  // tuples submitted at once, at most `room`
  Pace* paces;  // the schedule, gone through again and again; null: as fast as allowed, for ever
  uint32_t pace_count;
  uint32_t pace;       // the stretch it is in
  int64_t pace_began;  // when that began, as intended
  double pace_next;    // where the next tuple at a rate is from there, in distances between tuples
};

// Bursts of cost: `ends[i]` is the first sequence number (modulo the last one) behind stretch i,
// whose tuples cost `costs[i]`.
struct BurstState {
  uint64_t* ends;
  uint32_t* costs;
  uint32_t count;
};

// Which tuples an operator passes on: those whose sequence number, mixed with `seed`, comes out
// below `threshold` (protocol.hpp).
struct Chosen {
  uint64_t seed, threshold;
};

struct MergeState;

// Of an operator with a buffer before each output port (balance.hpp).
struct BalanceState {
  std::atomic<uint32_t> active;  // output ports that get tuples: the first so many
  uint32_t* ways;                // those of them that have room, as far as the operator has looked
  std::atomic<uint64_t> freed;   // changes when a buffer has room, or more ports are active
  Parking room;                  // where a sender waits for buffers; Port::room of all of them
  std::atomic<bool> waiting;     // a sender sleeps there, having found all buffers full
};

// An attribute of a typed tuple's key.
struct KeyAttribute {
  enum Kind : uint32_t { BYTES, TEXT, FLOAT, DOUBLE };
  uint32_t offset, bytes;  // of text: the most
  Kind kind;
};

struct SplitState {
  uint64_t keys;      // 0: round-robin
  uint64_t marks;     // window punctuations passed on
  MergeState* merge;  // that restores the order behind it; null if there is none
  Port** ports;       // those with queues between the two
  uint32_t port_count;
  uint32_t ahead;  // tuples that may be between the two
};

struct NativeState {
  NativeFunction function;
  void* state;
  // what the function returned when it failed; 0: it has not. Written last
  std::atomic<int32_t> error;
  uint64_t failed_at;  // sequence number
};

// Of an operator whose function is Python's.
struct PythonState {
  void* owner;  // the object that has the function
  // calls it, with the interpreter's lock held; returns whether `result` is to be passed on
  bool (*call)(Operator*, Worker*, uint64_t sequence, double value, double* result);
};

struct SinkState {
  uint64_t* next_of_path;  // by path: the smallest sequence number that may come next
  uint32_t paths;          // 0: order is not checked
  bool check_value;        // false behind an operator that may change it
  uint64_t fingerprints;
  uint64_t violations;
  uint64_t damaged;
  Counter windows;             // window punctuations
  std::atomic<double> latest;  // control port: the value that came last
  Histogram latency;
};

struct MergeState {
  char* slots;  // tuples that came early, each at its order modulo the number of slots
  uint64_t mask;
  uint8_t* present;
  SpscRing waiting;            // window punctuations that came early, in order: headers alone
  Tuple* mark;                 // room for one that goes out: a header, and a slot around it
  std::atomic<uint32_t> next;  // the order that comes next; written by the merge, read by its split
  uint64_t held;               // tuples in slots
  // tuples that came when the run had been cut short, and for which there was no slot
  uint64_t given_up;
  double last_mark;  // the number of the last punctuation seen: the split sends each one every way
  static constexpr uint32_t NO_SPLIT = UINT32_MAX;
  uint32_t splits_on = NO_SPLIT;  // the co-routine that its split runs on
  // a tuple or punctuation came earlier than the bound allows: a bug, reported as an error
  bool overrun;
};

// An input of a barrier (barrier.hpp).
struct BarrierInput {
  SpscRing ring;           // tuples that wait for those of other inputs
  uint64_t* next_of_path;  // as at a sink; so is `paths`
  uint32_t paths;
  uint32_t open_streams;  // that have not ended
};

// An attribute of a typed barrier's tuples: where it comes from, and goes to.
struct BarrierColumn {
  uint32_t input, from, to, bytes;
};

struct BarrierState {
  BarrierInput* inputs;
  const BarrierColumn* columns;  // by input; none where streams are not typed
  uint32_t column_count;
  uint32_t count;
  bool check_value;  // false behind an operator that may change it
  bool over;         // an input has ended and has no tuples left
  uint64_t fingerprints;
  uint64_t sent_fingerprints;
  uint64_t violations;
  uint64_t damaged;
  uint64_t discarded;  // tuples taken for nothing
  uint64_t windows;    // window punctuations that ended here
};

// A thread, or a co-routine, which a thread executes.
struct alignas(CACHE_LINE) Worker {
  // this thread's copy of "the run is over" (P17 s4.1.2: no flag that all threads poll)
  std::atomic<bool> stop;
  bool pooled;                      // a scheduler thread
  std::atomic<uint64_t> suspended;  // 1: its level was taken away (P17 s4.1.2)
  std::atomic<uint32_t> rest;       // of Rest: whether and why it does not run
  std::atomic<uint32_t> at;         // what it does, and for which operator (activity.hpp)
  Run* run;
  void* (*body)(void*);  // what it runs
  Operator* op;          // of a source's thread, and of a co-routine
  Port* port;            // of a threaded port's thread
  // coroutine model: what of its deliveries waits for room, the last one first (submit.hpp)
  Target* begun;
  char* taken_out;    // a co-routine with a queue shorter than a batch: room for a batch; else null
  bool collects;      // its operator has sent what waits for a batch
  int64_t tick;       // when it last looked at the clock for what it collects (coarse_clock.hpp)
  uint32_t unlooked;  // how often it does not look until it does so again
  Target** owed;      // targets whose thread this worker may still have to wake
  // a scheduled port that this thread has pushed to and may still have to put on the list
  // (dynamic.hpp)
  Port* unannounced;
  uint32_t owed_count;
  // input port of the tuples, or the punctuation, that it hands to an operator; read by barriers
  uint32_t input;
  // a scheduler thread that executes tuples which take long: it calls for others at once
  bool slow;
  Counter drains;
  Counter searches;  // looks for the next port; P17 s4.1.5: a thread that never looks is not active
  Counter reschedules;  // drains of a full queue by its producer
  Counter waits;        // times it slept
  // a scheduler thread that is allowed to run: without a port, or waiting for another thread
  Stopwatch idle;
  Stopwatch asleep;  // suspended
  // a thread that resumes co-routines: the one that it executes; null: none
  std::atomic<Worker*> executes;
  uint32_t co;   // a co-routine: its number
  bool resumed;  // this is a co-routine, no thread
  // a co-routine of an operator that may have several: `op` is its own record of that
  bool replica;
  uint64_t taken, pushed;  // a co-routine: tuples out of its queues, and into others
  int64_t born_ns;  // a co-routine: when the tuples that it has in hand left their source, about
  // of the tuples it gave up, each as often as sinks would have seen it
  uint64_t given_up_fingerprints;
  Parking pause;  // where it sleeps while it is suspended
  Thread thread;
};

struct Run {
  size_t stride;
  uint32_t payload;
  Operator* operators;
  uint32_t operator_count;
  const char** names;  // by operator
  Port* ports;
  uint32_t port_count;  // those with queues
  Worker* workers;
  uint32_t worker_count;
  Worker* co_workers;  // of co-routines
  uint32_t co_worker_count;
  // records of replicas, the operators' own left out: what each counts is added up
  Operator* replica_operators;
  uint32_t replica_count;
  CoroutineRun* coroutines;  // null: the model has none
  ReadyPorts* ready;         // null: no port is scheduled
  Contexts* contexts;  // null: no port is fed from more than one context, whatever queues are on
  Sizes* sizes;        // of batches and drains
  Tuple* final_punctuation;
  bool python;  // some operator runs Python code
  // threaded ports: looks for a change before a thread sleeps; 0 where threads outnumber CPUs
  uint32_t patience;
  alignas(CACHE_LINE) std::atomic<bool> finishing;  // sources must send no more
  std::atomic<bool> failed;                         // an operator raised
  std::atomic<bool> gave_up;  // a blocked producer dropped what it had, when the run was cut short
  alignas(CACHE_LINE) std::atomic<uint32_t> open_operators;
  // no operator is open, or one has failed, or the engine has ended the run
  std::atomic<bool> over;
  Parking ended;  // where the engine waits for `over`, and paced sources for their time
};

// What a thread does, and for which operator (activity.hpp).
inline uint32_t doing_of(const Worker& thread) noexcept {
  const Worker* co = thread.executes.load(std::memory_order_relaxed);
  return (co == nullptr ? thread : *co).at.load(std::memory_order_relaxed);
}
// The operator that a thread executes, + 1; 0: none.
inline uint32_t operator_of(const Worker& thread) noexcept { return executed_by(doing_of(thread)); }

// Queue `queue` is on from now on, or off: what ports are fed from changes. The caller holds
// Contexts::changing.
template <class AnyRun>
void change_contexts(AnyRun* run, uint32_t queue, bool on) noexcept {
  run->contexts->change(queue, on, [run](uint32_t fed, bool sole) {
    auto& port = run->ports[fed];
    if (!port.discipline->pooled || port.sole.load(std::memory_order_relaxed) == sole) return;
    port.sole.store(sole, std::memory_order_relaxed);
    for (uint32_t i = 0; !sole && i < port.feeder_count; ++i) remove_shortcut(port.feeders[i]);
  });
}

// Sizes of batches and drains, from the work that follows by calls: again whenever a queue comes or
// goes.
inline void choose_sizes(Run* run) {
  run->sizes->refresh(
      [run](uint32_t queue) {
        return (run->ports[queue].mode.load(std::memory_order_relaxed) & WANTED_CALLED) != 0;
      },
      [run](uint32_t op, uint32_t batch) {
        static_cast<SourceState*>(run->operators[op].own)
            ->batch.store(batch, std::memory_order_relaxed);
      },
      [run](uint32_t queue, const Sizes::OfQueue& sizes) {
        Port& port = run->ports[queue];
        port.batch.store(sizes.batch, std::memory_order_relaxed);
        port.most.store(sizes.most, std::memory_order_relaxed);
        port.wake_at.store(sizes.wake_at, std::memory_order_relaxed);
      });
}

template <class T>
T* make_array(size_t count) {
  return new T[count]();
}
template <class T>
void delete_array(T* array) noexcept {
  delete[] array;
}

}  // namespace millrace
