// path.hpp - the path of a tuple, from its source to a sink, over a platform.
//
// Functions of the path call each other in circles: a push may drain a queue, a drain executes an
// operator, and an operator pushes. They are all declared here, and defined by subject in the
// headers below, which this file includes. So a compiler sees them together.
//
//   submit.hpp      tuples and punctuation to a port: call the operator, or queue the tuples
//   dynamic.hpp     scheduler threads              dedicated.hpp   a thread for each port
//   resumed.hpp     co-routines of operators       switching.hpp   queues that come and go
//   kernels.hpp     operators of the harness       balance.hpp, barrier.hpp   two that block
//   users.hpp       functions of users             sources.hpp     sources, and when they send
//   typed_path.hpp  operators on tuples with attributes
//   loop_path.hpp   operators with a loop of their own
//
// A platform has these members:
//
//   records          the types named below, with words, locks and queues of the platform
//   BEGINS_SEVERAL   workers begin several deliveries before they wait for one (submit.hpp)
//   has_flags        threads that push to a port take its producer flag
//   call_lock, lock_at_end   the lock of a call to a port without its queue, and of an operator
//                    whose stream ends; null: none
//   stamp            the time at which tuples enter a queue
//   made, has_sent   a source has made tuples, for a route, and has sent them
//   Outer            a drain, while there is another one within it
//   take_out         a co-routine takes tuples out of a short queue before it works on them
//   unchanged, watch, rest, spin, yield, sleep_until   waits
//   now_ns           a clock
//   clock, born_ns, begins_schedule   the clock that sources go by, in a unit of its own
//   finish           a thread has come to its end
//
// and these, by which a platform charges for what its threads do. They are empty on real threads,
// whose steps take the time that they take (uncharged.hpp).
//
//   pass             lets the time pass that the steps so far take, before the worker looks at what
//                    others change, or lets others see what it has changed
//   executes, takes, drains   an operator is about to execute tuples, which were taken from a
//                    queue, which was taken from the list of ready ports
//   passes_on, holds, has_merged, looks_at_merge, stream_ends   of some operators
//   looks_at_queue, tell_watching, goes_to_sleep   before and after waits
//   ends_batch       a source is done with a batch
//   step             any other step
//   turns            the worker is about to do something else than before (activity.hpp)
//
// No function is noexcept: the interpreter unwinds the stack of a thread that asks for its lock
// after it has ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "activity.hpp"
#include "coarse_clock.hpp"
#include "end_run.hpp"
#include "flop.hpp"
#include "loops.hpp"
#include "millrace.h"
#include "oracle.hpp"
#include "protocol.hpp"
#include "state.hpp"
#include "tuple.hpp"
#include "typed.hpp"

namespace millrace {

// What a thread does on the path of a tuple, for platforms that charge for it.
enum class Step : uint32_t {
  CHOOSE_WAY,  // shares tuples out among output ports
  CHOOSE_KEY,  // finds the way of a tuple's key
  COPY,        // copies tuples, so that a called operator may change them
  CUT,         // passes on the tuples before one that goes no further
  MARK,        // sends punctuation
  SEARCH,      // has found no ready port
};

template <class Platform>
struct Path {
  using Discipline = typename Platform::Discipline;
  using Operator = typename Platform::Operator;
  using Port = typename Platform::Port;
  using Route = typename Platform::Route;
  using Run = typename Platform::Run;
  using Target = typename Platform::Target;
  using Tuple = typename Platform::Tuple;
  using Worker = typename Platform::Worker;
  using Lock = typename Platform::Lock;
  template <class T>
  using Word = typename Platform::template Word<T>;

  using BalanceState = typename Platform::BalanceState;
  using BarrierInput = typename Platform::BarrierInput;
  using BarrierState = typename Platform::BarrierState;
  using BurstState = typename Platform::BurstState;
  using LoopInput = typename Platform::LoopInput;
  using LoopState = typename Platform::LoopState;
  using MergeState = typename Platform::MergeState;
  using NativeState = typename Platform::NativeState;
  using PythonState = typename Platform::PythonState;
  using SinkState = typename Platform::SinkState;
  using SourceState = typename Platform::SourceState;
  using SplitState = typename Platform::SplitState;
  using TypedState = typename Platform::TypedState;

  // -- what a worker does (activity.hpp), for others to see
  static void turn_to(Worker* worker, Activity activity, const Operator* op = nullptr) {
    turn_back(worker, doing(activity, op == nullptr ? 0 : op->index + 1));
  }
  static void turn_to_moving(Worker* worker) {
    turn_back(worker, doing(Activity::MOVE, now_doing(worker) & OF_OPERATOR));
  }
  static uint32_t now_doing(const Worker* worker) {
    return worker->at.load(std::memory_order_relaxed);
  }
  static void turn_back(Worker* worker, uint32_t word) {
    Platform::turns(worker);
    worker->at.store(word, std::memory_order_relaxed);
  }

  // -- submit.hpp: data
  static void execute(Worker* worker, Operator* op, Tuple* first, uint32_t count);
  [[gnu::always_inline]] static inline void hand_over(Worker* worker);
  static void wake_pool(Worker* worker);
  static inline void acquire(Worker* worker, Lock* lock, const Operator* op);
  static inline void deliver(Worker* worker, Route* route, Tuple* first, uint32_t count);
  static void hold_back(Worker* worker, Tuple* first, uint32_t count);
  static void send_held(Worker* worker, Tuple* first, uint32_t count);
  static inline void deliver_now(Worker* worker, Route* route, Tuple* first, uint32_t count);
  static void deliver_to_all(Worker* worker, Route* route, Tuple* first, uint32_t count);
  static void deliver_every(Worker* worker, Route* route, Tuple* first, uint32_t count,
                            uint32_t every);
  static inline void send(Worker* worker, Target* target, Tuple* first, size_t spacing,
                          uint32_t count, char* scratch);
  static inline void call(Worker* worker, Target* target, Tuple* first, size_t spacing,
                          uint32_t count, char* scratch);
  static void push(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count,
                   char* scratch);
  static inline uint32_t put(Worker* worker, Target* target, Tuple* first, size_t spacing,
                             uint32_t count, bool waited);
  static void give_up(Worker* worker, Port* port, Tuple* first, size_t spacing, uint32_t count);
  // -- several deliveries at once
  static void begin(Worker* worker, Route* route, Tuple* first, size_t spacing, uint32_t count);
  static void begin_way(Worker* worker, Target* target, Tuple* first, size_t spacing,
                        uint32_t count);
  static void put_off(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count);
  static bool hand_on(Worker* worker);
  static void call_rest(Worker* worker, Target* target);
  [[gnu::always_inline]] static inline void end(Worker* worker, Target* before);
  static void end_begun(Worker* worker, Target* before);
  // -- out of a queue
  static inline void take(Worker* worker, Port* port, Tuple* first, uint32_t count);
  static void take_with_marks(Worker* worker, Port* port, Tuple* first, uint32_t count);
  static void take_mark(Worker* worker, Port* port, Tuple* mark);
  // -- punctuation
  static void pass_mark(Worker* worker, Operator* op, Tuple* mark);
  static void pass_mark_now(Worker* worker, Operator* op, Tuple* mark);
  static void begin_mark(Worker* worker, Operator* op, Tuple* mark);
  static void receive_mark(Worker* worker, Operator* op, Tuple* mark);
  static void end_stream(Worker* worker, Operator* op);
  static bool last_stream(Worker* worker, Operator* op);
  static void send_final(Worker* worker, Operator* op);
  static void close_operator(Worker* worker, Operator* op);

  // -- dynamic.hpp
  static void* scheduler_body(void* worker);
  static uint64_t drain(Worker* worker, Port* port, uint64_t most, bool yielding);
  static void release(Worker* worker, Port* port);
  static void put_back(Worker* worker, Port* port);
  static Port* next_port(Worker* worker);
  static void suspend(Worker* worker);
  static void reschedule(Worker* worker, Port* port, uint32_t* round);
  static void wait_a_little(Worker* worker, uint32_t* round, Port* port = nullptr);
  static inline void tuples_ready(Worker* worker, Target* target);
  static inline void announce(Worker* worker);
  static void put_on_list(Worker* worker, Port* port);

  // -- dedicated.hpp
  static void* port_body(void* worker);
  static void wake_producer(Port* port);
  static void wake_reader(Worker* worker, Port* port);
  static void wait_for_room(Worker* worker, Port* port, uint32_t* round);
  static inline void tuples_published(Worker* worker, Target* target);
  static void wake_owed(Worker* worker);

  // -- switching.hpp
  static bool call_instead(Worker* worker, Target* target, Tuple* first, size_t spacing,
                           uint32_t count, char* scratch);
  static uint32_t switch_on(Run* run, Port* port);
  static uint32_t switch_off(Worker* worker, Port* port);
  static void shorten(Port* port, Target* target);
  static void lengthen(Port* port);
  static void want(Port* port, bool called);

  // -- resumed.hpp
  static void* thread_body(void* worker);
  static void* operator_body(void* worker);
  static void* replica_body(void* worker);
  static void choose_inputs(Worker* worker, uint32_t inputs);
  static inline void release_slots(Run* run, Port* port, uint32_t count);
  static inline void tuples_for_coroutine(Worker* worker, Target* target);
  static void wait_for_room_of_any(Worker* worker, uint32_t* round);
  static void lack_rooms(Worker* worker);
  static void before_leaving(Worker* worker);
  static void deadlocked(Run* run);
  static void on_own_stack(Worker* worker, void (*function)(void*), void* argument);

  // -- kernels.hpp
  static inline void make_tuple(SourceState* source, Tuple* tuple, uint32_t payload);
  static int32_t work(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t work_round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void multiply_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t selective_work(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t selective_work_in_bursts(Operator* op, Worker* worker, Tuple* first,
                                          uint32_t count);
  static int32_t filter(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t split(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t split_by_key(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static inline bool is_ahead(const Operator* op, const SplitState* state, uint32_t count);
  static void wait_for_merge(Operator* op, Worker* worker, uint32_t count);
  static bool mark_split(Operator* op, Worker* worker, Tuple* mark);
  static int32_t pass_through(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t merge(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void overrun(Worker* worker, MergeState* state);
  static void pass_on_waiting(Operator* op, Worker* worker, MergeState* state);
  static bool mark_merge(Operator* op, Worker* worker, Tuple* mark);
  static inline void merge_advanced(Run* run, MergeState* state);
  static inline void lack_begun(Worker* worker);
  static int32_t sink(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t absorb(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static bool mark_sink(Operator* op, Worker* worker, Tuple* mark);

  // -- balance.hpp
  static int32_t balance(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void fill(Worker* worker, Route* route, Tuple* first, size_t spacing, uint32_t count);
  static uint32_t look_for_room(Operator* op, BalanceState* state, uint32_t wanted, uint32_t* most);
  static bool has_room(Operator* op, BalanceState* state);
  static void wait_for_buffers(Operator* op, Worker* worker, BalanceState* state);
  static void set_active(BalanceState* state, uint32_t active);

  // -- barrier.hpp
  static int32_t barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static uint32_t room_of_input(Operator* op, uint32_t input);
  static void check_parts(Worker* worker, BarrierState* state, BarrierInput* input, Tuple* first,
                          uint32_t count);
  static int32_t typed_barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  template <bool TYPED>
  static int32_t hold_parts(Operator* op, Worker* worker, Tuple* first, uint32_t count,
                            size_t stride);
  template <bool TYPED>
  static void send_complete(Operator* op, Worker* worker, BarrierState* state);
  static void send_joined(Operator* op, Worker* worker, BarrierState* state, uint64_t ready);
  static void join_typed(TypedState* typed, BarrierState* state);
  static void join(BarrierInput* input, Tuple* first, size_t stride, uint32_t count);
  static void end_barrier(Operator* op, Worker* worker, BarrierState* state);
  static void input_ended(Operator* op, Worker* worker);
  static bool mark_barrier(Operator* op, Worker* worker, Tuple* mark);
  static void wait_for_others(Operator* op, Worker* worker, uint32_t* round);

  // -- users.hpp
  struct NativeCalls;
  struct PythonCalled;
  static double control_value(Operator* op);
  static void let_others_in(Operator* op);
  static void keep_others_out(Operator* op, Worker* worker);
  static void leave(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void call_native(void* calls);
  static int32_t native(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void call_python(void* called);
  static int32_t python(Operator* op, Worker* worker, Tuple* first, uint32_t count);

  // -- sources.hpp
  static void* source_body(void* worker);
  static void send_window(Worker* worker, Operator* op, SourceState* source);
  static uint32_t due(Worker* worker, SourceState* source, uint32_t most);
  static void sleep_until(Worker* worker, int64_t time, int64_t now);

  // -- typed_path.hpp
  static int32_t typed(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t typed_plain(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  template <bool PLAIN>
  [[gnu::always_inline]] static inline int32_t process(Operator* op, Worker* worker, Tuple* first,
                                                       uint32_t count);
  static int32_t typed_split(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static int32_t typed_merge(Operator* op, Worker* worker, Tuple* first, uint32_t count);
  static void merge_on(Worker* worker, Operator* op, Tuple* tuple);
  static void taken_in_order(Worker* worker, Operator* op, Tuple* tuple);
  [[gnu::always_inline]] static inline bool keeps_back(Worker* worker, bool replicated,
                                                       Tuple* first, uint32_t count);
  static void keep_back(Worker* worker, Tuple* first, uint32_t count);
  static void send_numbered(Worker* worker, Tuple* first, uint32_t count);
  static inline void take_typed(Worker* worker, TypedState* state, Tuple* tuple);
  static void leave_typed(Operator* op, Worker* worker, uint32_t count);
  static void fail_typed(TypedState* state, int32_t answer, uint64_t at);
  static void send_typed(millrace_context* context, uint32_t output);
  static void send_plain(millrace_context* context, uint32_t output);
  static void send_from_source(millrace_context* context, uint32_t output);
  template <bool PLAIN>
  static inline void collect(TypedState* state, uint32_t output);
  static bool deliver_typed(TypedState* state);
  static void begin_typed(TypedState* state, uint32_t output);
  static void finish_typed(Operator* op, Worker* worker);
  static void* typed_source_body(void* worker);

  // -- loop_path.hpp
  enum : int32_t { LOOP_OVER = 0, LOOP_DONE = 1, LOOP_BLOCKED = 2, LOOP_ERROR = -1 };  // verdicts
  static void* loop_body(void* worker);
  static void* replica_loop_body(void* worker);
  static void call_function(Worker* worker, LoopState* state);
  static void take_ticket(LoopState* state, LoopInput* from);
  static Tuple* pop_from_ticket(LoopState* state, LoopInput* from);
  static inline bool stopped(LoopState* state);
  static inline bool exhausted(LoopState* state);
  static inline bool has(LoopInput* from, uint32_t count);
  static inline int32_t verdict_on(LoopState* state, bool any);
  static inline int32_t wait(LoopState* state, bool any);
  static inline void waited(LoopState* state);
  static inline void give_back(LoopState* state, LoopInput* from);
  static void compact(LoopState* state, LoopInput* from);
  static inline Tuple* pop(LoopState* state, LoopInput* from);
  static inline uint32_t filled(LoopState* state, uint32_t output);
  static bool enter_room(LoopState* state, uint32_t output);
  static bool deliver_pushed(LoopState* state);
  static void begin_pushed(LoopState* state, uint32_t output);
  static void push_from_source(Worker* worker, Operator* op, Tuple* first, uint32_t count);
  static void let_go(LoopState* state);
  static void fail(LoopState* state);
  static void run_loop(Worker* worker, LoopState* state);
  static void sleep(LoopState* state, int64_t ns);
  static void absorb_rest(LoopState* state);
  static int32_t resume_in_slices(millrace_loop* context, void* state);
  static int32_t refuse(LoopState* state, const char* text);
  static inline bool lacks(LoopState* state, uint32_t port, uint32_t count, const char* call,
                           const char* kind);
  static void refuse_port(LoopState* state, uint32_t port, uint32_t count, const char* call,
                          const char* kind);
  static inline int32_t asked(millrace_loop* context, const uint32_t* counts, bool any,
                              const char* call);
  static int32_t c_wait_all(millrace_loop* context, const uint32_t* counts);
  static int32_t c_wait_any(millrace_loop* context, const uint32_t* counts);
  static int64_t c_waiting(millrace_loop* context, uint32_t port);
  static int32_t c_pop(millrace_loop* context, uint32_t port, millrace_tuple* popped);
  static int32_t c_push(millrace_loop* context, uint32_t port, double value);
  static void c_send(millrace_context* context, uint32_t output);
  static int32_t c_stopping(millrace_loop* context);
  static double c_control(millrace_loop* context);
  static int32_t c_sleep(millrace_loop* context, int64_t ns);
  static void connect(LoopState* state);
};

}  // namespace millrace

#include "balance.hpp"
#include "barrier.hpp"
#include "dedicated.hpp"
#include "dynamic.hpp"
#include "kernels.hpp"
#include "loop_path.hpp"
#include "resumed.hpp"
#include "sources.hpp"
#include "submit.hpp"
#include "switching.hpp"
#include "typed_path.hpp"
#include "users.hpp"
