// state.hpp - what a running graph consists of: plain records, laid out for who touches them. No logic; that is in the .pyx files.
//
//   Operator   one line that is all a called operator needs (constants, and the count of who executes it), one line for rarer things
//   Port       an input port with a queue: constants; the producers' line; the consumers' line
//   Route      where the tuples of one output port go
//   Worker     a thread that executes operators, with its own flags and counts (LOCAL)
//   Run        what all threads share; read-mostly while tuples flow
//
// Who may touch what. An operator is executed by one thread at a time: through its only queued port (Port::consuming), as part of the
// region of one thread, or under Operator::lock, which the plan sets only where more than one thread can reach it (ALONE).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "counter.hpp"
#include "free_list.hpp"
#include "histogram.hpp"
#include "parking.hpp"
#include "spsc_ring.hpp"
#include "thread.hpp"
#include "try_flag.hpp"
#include "tuple.hpp"

namespace millrace {

struct Operator;
struct Port;
struct Target;
struct Worker;
struct Run;

// Works on `count` data tuples that lie `run->stride` apart, in place. Returns the output port to which all of them go, or one of
// the codes below.
using Kernel = int32_t (*)(Operator*, Worker*, Tuple*, uint32_t);
inline constexpr int32_t HANDLED = -1;  // the kernel has delivered, kept or dropped them itself

// Waits, in the model's way, until a tuple may fit into the port's queue; the producer side was taken, or the queue was full.
using WaitForSpace = void (*)(Worker*, Port*);
// After tuples were published to the target's queue: wakes who waits for them, if the model has such.
using Published = void (*)(Worker*, Target*);
// Before a thread sleeps or ends: wakes those whom it has not woken yet.
using Flush = void (*)(Worker*);

struct Target {
  Operator* op;
  Port* port;          // null: the operator is executed by a call
  uint32_t path_step;  // added to the path of a tuple that goes this way
  bool lazy_wake;      // dedicated: one thread alone sends this way, so it may put off waking the port's thread
  bool wake_owed;      // dedicated: it has put it off, and still has to
};

struct Route {
  Target* targets;
  uint32_t count;
  char* scratch;  // room for the copies that called siblings may change; null if none can
};

struct Operator {
  alignas(CACHE_LINE) Kernel kernel;
  double factor;      // of the multiplies: exactly 1.0, read at run time, so that work leaves no trace and cannot be optimised away
  Operator* next;     // the one operator behind the one output port, if it is executed by a call; else null
  std::mutex* lock;   // null: the plan has proved that one thread at a time gets here (P17 s5.2)
  Counter processed;  // data tuples
  Route* routes;      // by output port
  uint32_t cost;      // multiplies a tuple
  uint32_t next_path_step;
  uint32_t outputs;
  uint32_t index;                     // in the graph's order
  alignas(CACHE_LINE) uint32_t turn;  // the output port that is next (round-robin)
  uint32_t order;                     // split: tuples stamped so far
  uint32_t open_streams;              // incoming streams that have not ended
  uint64_t copies;                    // how many sinks see a tuple from here; 0: it depends on the tuple
  Counter emitted;                    // tuples sent on by operators that may drop or hold them (merge, python)
  void* own;                          // state of its kind (sink, merge, python, source)
};
static_assert(offsetof(Operator, turn) == CACHE_LINE, "what a call needs fits in one line");

struct Port {
  alignas(CACHE_LINE) SpscRing ring;
  Operator* op;
  uint32_t index;     // among the queued ports: its name on the free list
  uint32_t batch;     // tuples a drain hands to the operator at once
  bool shared;        // more than one thread may produce: the producer flag is needed
  uint32_t wake_at;   // dedicated: tuples in the queue at which the port's thread is woken at the latest
  Parking* arrivals;  // dedicated: where the port's thread waits for tuples; else null
  Parking* room;      // dedicated: where producers wait for space
  alignas(CACHE_LINE) TryFlag producing;
  Counter pushes;                  // batches
  Counter blocked;                 // batches that had to wait: the queue was full or the producer side taken
  std::atomic<uint64_t> given_up;  // tuples that blocked producers dropped because the run was cut short
  alignas(CACHE_LINE) TryFlag consuming;
  uint32_t open_streams;  // streams into this port that have not ended
};

struct SourceState {
  uint64_t sent;   // tuples, the sequence number of the next
  uint64_t limit;  // stop after so many
  uint64_t fingerprints;
  Tuple* buffer;  // `batch` slots
  uint32_t batch;
};

struct SinkState {
  uint64_t* next_of_path;  // by path: the smallest sequence number that may come next
  uint32_t paths;          // 0: too many to tell apart, order is not checked
  bool check_value;        // false behind an operator that may change it
  uint64_t fingerprints;
  uint64_t violations;
  uint64_t damaged;
  Histogram latency;
};

struct MergeState {
  char* slots;  // tuples that came early, each at its order modulo the number of slots
  uint64_t mask;
  uint8_t* present;
  uint32_t next;  // the order that comes next
  uint64_t held;
  bool overrun;  // a tuple came earlier than the bound allows: a bug, told as an error
};

struct alignas(CACHE_LINE) Worker {
  std::atomic<bool> stop;  // this thread's copy of "the run is over" (P17 s4.1.2: no flag that all threads poll)
  Run* run;
  Operator* op;   // of a source's thread
  Port* port;     // of a dedicated thread
  Target** owed;  // dedicated: targets whose thread this worker may still have to wake
  uint32_t owed_count;
  uint32_t spins;
  std::atomic<uint32_t> inside;  // index of the operator that may not return (python), + 1; 0 = none
  Counter drains;
  Counter searches;                // walks over the free list
  Counter reschedules;             // drains of a full queue by its producer
  Counter waits;                   // times it slept
  uint64_t given_up_fingerprints;  // of the tuples it gave up, each as often as sinks would have seen it
  Thread thread;
};

struct Run {
  size_t stride;
  uint32_t payload;
  bool one_at_a_time;  // a source carries each tuple to its end before the next one (manual)
  Operator* operators;
  uint32_t operator_count;
  Port* ports;
  uint32_t port_count;  // queued ones
  Worker* workers;
  uint32_t worker_count;
  FreeList* free_ports;
  Tuple* final_punctuation;
  WaitForSpace wait_for_space;
  Published published;                              // null: nobody waits for tuples
  Flush flush;                                      // null: nothing is put off
  size_t capacity;                                  // tuples a queue
  alignas(CACHE_LINE) std::atomic<bool> finishing;  // sources shall send no more
  std::atomic<bool> failed;                         // an operator raised
  alignas(CACHE_LINE) std::atomic<uint32_t> open_operators;
  std::atomic<bool> over;  // no operator is open, or one has failed, or the engine has ended the run
  Parking ended;           // where the engine waits for `over`
  Parking nap;             // dynamic: scheduler threads that have just found no work
  Parking idle;            // dynamic: those that have not found any for long, and are woken when some arrives
};

template <class T>
T* make_array(size_t count) {
  return new T[count]();
}
template <class T>
void delete_array(T* array) noexcept {
  delete[] array;
}

}  // namespace millrace
