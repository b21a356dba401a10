// state.hpp - what a simulated graph consists of: the records of harness/native/state.hpp
// in virtual time. No logic.
//
// Where the runtime has an atomic word that several threads touch, there is a word with a Line
// here, which says what touching it costs. States of operators that have no such words are the
// runtime's own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "../../native/state.hpp"
#include "footprint.hpp"
#include "line.hpp"
#include "line_word.hpp"
#include "protocol.hpp"
#include "ready_flag.hpp"
#include "ring.hpp"
#include "stamps.hpp"
#include "system.hpp"
#include "words.hpp"

namespace millrace::sim {

struct Discipline;  // simulation.hpp
struct Operator;
struct Port;
struct Target;
struct Worker;

inline void set_shortcut(Target*) noexcept {}  // a call by the long way costs no more here
inline void remove_shortcut(Target*) noexcept {}

// Locks, flags and queues charge the thread that acts (primitives.hpp).

class Flag {
 public:
  Port* port = nullptr;  // whose
  bool try_lock();
  void unlock();
  bool held() const noexcept { return held_; }
  void seize() noexcept { held_ = true; }  // for tests

 private:
  bool held_ = false;
  Line line_;
};

class Mutex {
 public:
  WaitQueue queue;
  bool try_lock();
  bool try_enter();  // the same, where its time is part of what follows
  void lock();
  void unlock();

 private:
  bool held_ = false;
};

class Queue : public Ring {
 public:
  Port* port = nullptr;  // whose
  size_t push(Tuple* first, size_t count, size_t spacing, uint32_t path_step);
  // The tuples at the front are copied to a batch of the simulation until they are released.
  size_t front(size_t most, Tuple** first);
  void release(size_t count);
  size_t room(size_t wanted);
  size_t size_guess() const noexcept { return size(); }
  size_t stride() const noexcept { return sizeof(Tuple); }

 private:
  Tuple* front_ = nullptr;
};

// A word with a line of its own that all its readers have looked at for another reason.
class Freed : public LineWord<uint64_t> {
 public:
  uint64_t load(std::memory_order) const noexcept { return value_; }
  void add() noexcept { ++value_; }
};

class ReadyFlag : public BasicReadyFlag<LinePlatform, Queue, Flag> {
 public:
  bool release(const Queue& ring, Flag& consuming);
};

// Where threads sleep (parking.hpp). They have paid for that before (goes_to_sleep).
class Parking {
 public:
  WaitQueue queue;
  template <class AnyWord>
  void sleep_while(const AnyWord& word, uint64_t seen, const Word<bool>& stop) {
    if (word.load(std::memory_order_relaxed) == seen && !stop) sleep();
  }
  bool somebody_guess() const noexcept { return !queue.sleepers.empty(); }
  void wake_one();
  void wake_all();  // from outside

 private:
  void sleep();
};

// Where a suspended thread sleeps.
class Pause {
 public:
  void sleep_while(const Word<uint64_t>& word, uint64_t seen, const Word<bool>& stop);
};

// The list of ports that may be free (P17 Figure 3): its order, and the lines of its two ends and
// of the link behind the last port; and the threads without a port.
class ReadyPorts {
 public:
  static constexpr uint32_t NONE = UINT32_MAX;
  explicit ReadyPorts(Simulation& simulation) : simulation_(simulation) {}
  WaitQueue idle;
  std::deque<uint32_t> ports;
  void push(uint32_t port);
  uint32_t pop();
  void wake_one();
  void sleep(const Word<bool>& stop, const Word<uint64_t>& suspended);

 private:
  Simulation& simulation_;
  Line head_, tail_, link_;
  bool waking_ = false;  // one has been woken and has not looked yet: until then no other is
};

using Kernel = int32_t (*)(Operator*, Worker*, Tuple*, uint32_t);
using MarkKernel = bool (*)(Operator*, Worker*, Tuple*);
using StreamEnd = void (*)(Operator*, Worker*);

struct Target {
  Operator* op = nullptr;
  Port* port = nullptr;
  uint32_t path_step = 0, input = 0;
  bool lazy_wake = false, early = false, wake_owed = false;
  Word<bool> direct;  // false: what a shortcut saves costs nothing here
  static constexpr size_t stride = sizeof(Tuple);
};

struct Route {
  Array<Target> targets;
  uint32_t count = 0;
  char* scratch = nullptr;
  Counter sent;
  static constexpr size_t stride = sizeof(Tuple);
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

// Tuples that wait in a barrier for those of other inputs, side by side.
class Held {
 public:
  void resize(size_t capacity) { capacity_ = capacity; }
  size_t capacity() const noexcept { return capacity_; }
  size_t size_guess() const noexcept { return tuples_.size() - begin_; }
  size_t push(Tuple* first, size_t count, size_t, uint32_t) {
    if (begin_ > tuples_.size() / 2) {
      tuples_.erase(tuples_.begin(), tuples_.begin() + static_cast<ptrdiff_t>(begin_));
      begin_ = 0;
    }
    const size_t fitting = std::min(count, capacity_ - size_guess());
    tuples_.insert(tuples_.end(), first, first + fitting);
    return fitting;
  }
  size_t front(size_t most, Tuple** first) noexcept {
    *first = tuples_.data() + begin_;
    return std::min(most, size_guess());
  }
  void release(size_t count) noexcept { begin_ += count; }

 private:
  std::vector<Tuple> tuples_;
  size_t capacity_ = 0, begin_ = 0;
};

struct BarrierInput {
  Held ring;
  std::vector<uint64_t> next_of_path;
  uint32_t paths = 0;
  uint32_t open_streams = 0;
};

struct BarrierState {
  std::vector<BarrierInput> inputs_;
  BarrierInput* inputs = nullptr;
  uint32_t count = 0;
  static constexpr bool check_value = false;
  bool over = false;
  uint64_t fingerprints = 0, sent_fingerprints = 0, violations = 0, damaged = 0, discarded = 0,
           windows = 0;
};

struct BalanceState {
  Word<uint32_t> active;
  Array<uint32_t> ways;
  Freed freed;
  Parking room;
  Word<bool> waiting;
};

struct SplitState {
  uint64_t keys = 0, marks = 0;
  MergeState* merge = nullptr;
  Operator* behind = nullptr;  // whose state that is
  std::vector<Port*> ports_;
  Port** ports = nullptr;
  uint32_t port_count = 0;
  uint32_t ahead = 0;
};

// Input ports of a loop whose tuples come from the same operators, and so in a ratio of their own.
struct InputGroup {
  double share = 0;  // of all tuples that the loop takes
  uint64_t taken = 0;
  uint32_t open_streams = 0;
};

// Of operators that are known by their profile: what that has shown, by output port.
struct Profile {
  static constexpr uint32_t ONE = 32;  // a tuple, as a power of two: `sends`, `owed` have fractions
  Time cost = 0;  // of a tuple [ps], with all that the runtime does for it but queues
  std::vector<uint64_t> sends, owed, numbers;
  bool one_for_one = false;        // between a split and its merge: tuples keep their order there
  std::vector<InputGroup> groups;  // more than one: the loop waits for tuples of all of them
  std::vector<uint32_t> group_of;  // by input port
  Array<Tuple> buffer;
  std::vector<uint64_t> next_of_path;
  uint32_t paths = 0;
  static constexpr bool check_value = false;
  uint64_t violations = 0, damaged = 0;
};

struct Operator {
  Kernel kernel = nullptr;
  double factor = 1.0;
  Word<Operator*> next;
  Mutex* lock = nullptr;
  Counter processed;
  Array<Route> routes;
  uint32_t cost = 0, next_path_step = 0, outputs = 0, index = 0;
  MarkKernel mark = nullptr;
  StreamEnd stream_ended = nullptr, closes = nullptr;
  uint32_t turn = 0, order = 0, open_streams = 0;
  uint64_t copies = 0, dropped = 0, left = 0;
  Counter emitted;
  Chosen* chosen = nullptr;
  bool ended = false;
  void* own = nullptr;
  OperatorKind kind = WORK;
  bool resumed = false;        // a co-routine begins with it
  uint32_t most_replicas = 1;  // that it may have
  uint64_t keys = 0;           // of an operator by key; 0: stateless
  Line line;  // its state, where several threads take turns, or a split looks at it
  Touch touch;
  Profile* profile = nullptr;
  Mutex* interpreter = nullptr;  // its function is in Python and takes this lock
};

struct Port {
  Queue ring;
  Operator* op = nullptr;
  const Discipline* discipline = nullptr;
  uint32_t index = 0, input = 0;
  bool shared = false;
  Word<uint32_t> wake_at = 1, most = 1, batch = 1, mode = QUEUED;
  Parking own_arrivals, own_room;
  Parking* arrivals = nullptr;  // threaded: where its thread waits for tuples
  Parking* room = nullptr;      // threaded, resumed: where threads wait for space
  Freed* freed = nullptr;       // of a buffer
  Operator* balance = nullptr;  // of a buffer: whose
  Mutex* call_lock = nullptr;
  Target** feeders = nullptr;  // whose shortcuts would have to be removed: there are none here
  uint32_t feeder_count = 0;
  Word<bool> sole;  // as queues are now, all who send here are in one context
  Flag producing, consuming;
  ReadyFlag ready;
  Touch filled, emptied;  // by the producer, by the consumer
  uint32_t wary = 0;      // how often it still leaves the list as soon as it is empty
  Line node;              // its entry in the list of ready ports
  Counter pushes, blocked, switches, marks;
  Word<uint64_t> given_up;
  uint64_t marks_taken = 0;
  Word<uint32_t> unended;  // streams whose final punctuation is not in the queue yet
  uint32_t open_streams = 0;
  // threads that wait for the port's flags, or for room, and have not given their CPUs away yet
  std::vector<Worker*> spinning;
  std::unique_ptr<Stamps> stamps;  // resumed, where the policy looks at times
  // since when a co-routine has waited for room; NEVER: none does, or there is room. And for how
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

// Time for which a thread does not work [ps].
class Stopwatch {
 public:
  const Time* now = nullptr;  // the clock
  void start() noexcept {
    if (began_ == NEVER) began_ = *now;
  }
  void stop() noexcept {
    if (began_ != NEVER) total_ += *now - std::exchange(began_, NEVER);
  }
  Time read() const noexcept { return total_ + (began_ == NEVER ? 0 : *now - began_); }

 private:
  Time total_ = 0, began_ = NEVER;
};

struct Worker : Thread {
  static constexpr uint32_t NO_COROUTINE = UINT32_MAX;
  Simulation* run = nullptr;
  bool pooled = false, slow = false;
  Word<uint64_t> suspended;
  bool resumed = false;  // this is the record of a co-routine, else a thread's
  bool replica = false;  // of a co-routine that is one of its operator's replicas
  Word<uint32_t> rest = AWAKE;
  Word<uint32_t> at;   // operator + 1
  uint32_t input = 0;  // by which input port comes what it hands to an operator
  Operator* op = nullptr;
  Port* port = nullptr;
  struct Owed : std::vector<Target*> {
    Target*& operator[](size_t place) {
      if (place == size()) emplace_back();
      return data()[place];
    }
  } owed;
  uint32_t owed_count = 0;
  Port* unannounced = nullptr;
  Counter drains, searches, reschedules, waits;
  uint64_t given_up_fingerprints = 0;
  Stopwatch idle, asleep;
  Pause pause;
  Time born = 0;
  Slots slots;
  uint64_t last_alone = UINT64_MAX;   // the tuple that it worked on last, if that came alone
  uint32_t coroutine = NO_COROUTINE;  // whose record it is
  uint64_t taken = 0, pushed = 0;     // tuples of a co-routine
  int64_t born_ns = 0;                // of a co-routine: when what it works on left its source

  // Whether the run is over.
  struct Stop {
    const Word<bool>* over = nullptr;
    bool load(std::memory_order) const noexcept { return *over; }
    operator const Word<bool>&() const noexcept { return *over; }  // NOLINT: as a word
  } stop;
};

}  // namespace millrace::sim
