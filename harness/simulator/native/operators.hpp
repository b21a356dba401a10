// operators.hpp - what it costs to execute each kind of operator, and the kernels of those whose
// functions are not executed here but known by their profile.
#pragma once

#include "../../native/flop.hpp"
#include "sim_path.hpp"

namespace millrace::sim {

// Lines of a slot that a sink reads: the header, and three words of the payload (tuple.hpp).
inline constexpr uint32_t SINK_LINES = 3;

// The thread is about to execute `op` on tuples. A function in Python holds the interpreter's lock
// for all of them: the runtime takes it once a batch.
inline void Simulation::charge(Worker& w, Operator& op, const Tuple* first, Count count) {
  enter_interpreter(w, op);
  spend(w, op, first, count);
  leave_interpreter(w, op);
}

inline void Simulation::enter_interpreter(Worker& w, Operator& op) {
  if (op.interpreter != nullptr && !op.interpreter->try_enter())
    SimPath::acquire(&w, op.interpreter, &op);
}

inline void Simulation::leave_interpreter(Worker& w, Operator& op) {
  if (op.interpreter == nullptr) return;
  pass(w);
  op.interpreter->unlock();
}

inline void Simulation::spend(Worker& w, Operator& op, const Tuple* first, Count count) {
  ++executed;
  touch(w, op.touch, OPERATOR_BYTES);
  if (op.kind == SINK || op.kind == CONTROL) {
    if (op.profile != nullptr && op.profile->cost > 0) {
      w.mixed += op.profile->cost * count;
    } else {
      w.mixed += software.sink_batch * publications(count) + software.sink_tuple * count +
                 software.sink_byte * payload_bytes * count;
    }
    for (Count i = 0; i < count; ++i) w.mixed += first[i].born_ns != 0 ? software.clock : 0;
    const uint64_t lines = std::min<uint64_t>(SINK_LINES, slot_bytes / machine.line);
    w.waiting += lines * machine.line * count * w.slots.kib >> 10;
    if (op.lock != nullptr) rmw(w, op.line, false);
    return;
  }
  w.mixed += op.profile != nullptr
                 ? op.profile->cost * count
                 : software.call_batch * publications(count) + software.call_tuple * count;
  if (op.kind == WORK || op.kind == BURSTS) compute(w, op, first, count);
  if (profile_period_ > 0 || system.owed(w) > System::LONGEST_STEP)
    pass(w);  // the profiler asks who spends which time
  if (op.kind == SPLIT && static_cast<SplitState*>(op.own)->merge != nullptr)
    look(w, static_cast<SplitState*>(op.own)->behind->line);
  if (op.profile != nullptr) return;
  if (op.kind == FILTER || op.chosen != nullptr) w.mixed += software.filter_tuple * count;
  // What a look at a tuple costs a barrier is taken to be what it costs a merge.
  if (op.kind == MERGE || op.kind == BARRIER) w.mixed += software.merge_tuple * count;
}

// A core begins with a tuple before it is done with the one before, unless the work of a batch is a
// chain (flop.hpp), as it is not where each tuple has a cost of its own, or it is the same tuple at
// the next operator.
inline void Simulation::compute(Worker& w, const Operator& op, const Tuple* first, Count count) {
  const auto beside_others = [this](uint32_t cost) {
    const uint64_t overlapped = (machine.flop * cost << Machine::SHIFT) / software.overlap;
    const uint64_t alone =
        machine.flop * (cost - std::min(cost, cost < SERIAL_FLOP ? cost : software.ahead));
    return std::max(overlapped, alone);
  };
  const bool again = count == 1 && first->sequence == w.last_alone;
  if (op.kind == BURSTS) {
    const auto& bursts = *static_cast<BurstState*>(op.own);
    for (Count i = 0; i < count; ++i) {
      const uint64_t place = first[i].sequence % bursts.ends[bursts.count - 1];
      const auto stretch =
          std::upper_bound(bursts.ends, bursts.ends + bursts.count, place) - bursts.ends;
      const uint32_t cost = bursts.costs[stretch];
      w.fp += again ? machine.flop * cost : beside_others(cost);
    }
  } else if (again || (count > 1 && op.cost >= SERIAL_FLOP)) {
    w.fp += machine.flop * op.cost * count;
  } else {
    w.fp += beside_others(op.cost) * count;
  }
  w.last_alone = count > 1 ? UINT64_MAX : first->sequence;
}

// A source has made tuples. Returns where they go: of one with a profile, to the port that is owed
// most.
inline Route* Simulation::charge_source(Worker& w, Operator& op, Count count) {
  auto& source = *static_cast<SourceState*>(op.own);
  Count output = 0;
  if (op.profile == nullptr) {
    w.mixed += software.source_batch * publications(count) +
               (software.source_tuple + software.source_byte * payload_bytes) * count;
  } else {
    enter_interpreter(w, op);
    w.mixed += op.profile->cost * count;
    leave_interpreter(w, op);
    output = profiled_output(op, count);
    for (Count i = 0; i < count; ++i) source.buffer[i].sequence = op.profile->numbers[output]++;
    op.routes[output].sent.add(count);
  }
  const uint64_t buffer = uint64_t{source.room} * slot_bytes;
  w.slots = {.kib = machine.fetch_kib[buffer <= machine.l1 / 2 ? OWN_L1 : OWN_L2]};
  if (profile_period_ > 0) pass(w);
  return &op.routes[output];
}

inline Simulation::Count Simulation::profiled_output(Operator& op, Count count) {
  Profile& profile = *op.profile;
  size_t most = 0;
  for (size_t output = 0; output < profile.sends.size(); ++output) {
    profile.owed[output] += profile.sends[output] * count;
    if (static_cast<int64_t>(profile.owed[output]) > static_cast<int64_t>(profile.owed[most]))
      most = output;
  }
  profile.owed[most] -= uint64_t{count} << Profile::ONE;
  return static_cast<Count>(most);
}

// The kernel of a typed operator and of a loop: as many tuples on each output port as a profiled
// run has shown, evenly. The fraction that is left is owed.
inline int32_t send_profiled(Operator* op, Worker* w, Tuple* first, uint32_t count) {
  Profile& profile = *op->profile;
  const uint32_t at = SimPath::now_doing(w);
  const Slots slots = w->slots;
  for (uint32_t i = 0; i < count; ++i) check_end(profile, profile, first + i, 0);
  if (!profile.groups.empty()) profile.groups[profile.group_of[w->input]].taken += count;
  int64_t born = 0;
  for (uint32_t i = 0; i < count && born == 0; ++i) born = first[i].born_ns;
  for (size_t output = 0; output < op->routes.size(); ++output) {
    profile.owed[output] += profile.sends[output] * count;
    while (profile.owed[output] >> Profile::ONE > 0) {
      const auto part = static_cast<uint32_t>(
          std::min<uint64_t>(profile.owed[output] >> Profile::ONE, MAX_BATCH));
      profile.owed[output] -= uint64_t{part} << Profile::ONE;
      for (uint32_t i = 0; i < part; ++i) {
        profile.buffer[i] = {};
        profile.buffer[i].sequence = profile.numbers[output]++;
        profile.buffer[i].born_ns = i == 0 ? born : 0;
        if (profile.one_for_one) profile.buffer[i].order = first[i].order;
      }
      op->routes[output].sent.add(part);
      op->emitted.add(part);
      SimPath::deliver(w, &op->routes[output], profile.buffer, part);
      SimPath::turn_back(w, at);
      w->slots = slots;
    }
  }
  return HANDLED;
}

// The kernel of a split: each tuple goes to the port that is owed most.
inline int32_t split_profiled(Operator* op, Worker* w, Tuple* first, uint32_t count) {
  Profile& profile = *op->profile;
  std::array<uint32_t, MAX_BATCH> ways;
  std::array<Tuple, MAX_BATCH> share;
  if (SimPath::is_ahead(op, static_cast<SplitState*>(op->own), count))
    SimPath::wait_for_merge(op, w, count);
  for (uint32_t i = 0; i < count; ++i) {
    check_end(profile, profile, first + i, 0);
    first[i].order = op->order++;
    ways[i] = w->run->profiled_output(*op, 1);
  }
  constexpr uint32_t SENT = UINT32_MAX;
  for (uint32_t begin = 0; begin < count; ++begin) {
    const uint32_t way = ways[begin];
    if (way == SENT) continue;
    uint32_t part = 0;
    for (uint32_t i = begin; i < count; ++i) {
      if (ways[i] != way) continue;
      ways[i] = SENT;
      share[part] = first[i];
      share[part].sequence = profile.numbers[way]++;
      share[part++].path = 0;
    }
    op->routes[way].sent.add(part);
    op->emitted.add(part);
    SimPath::deliver(w, &op->routes[way], share.data(), part);
  }
  return HANDLED;
}

// A stream into a loop has ended, whose ports are taken in a ratio.
inline void group_ended(Operator* op, Worker* w) {
  --op->profile->groups[op->profile->group_of[w->input]].open_streams;
}

// Gives an operator its functions, by its kind and state.
inline void give_kernel(Operator& op) {
  op.kernel = op.chosen != nullptr ? SimPath::filter
              : op.outputs > 1     ? SimPath::round_robin
                                   : SimPath::pass_through;
  switch (op.kind) {
    case FILTER:
      op.kernel = SimPath::filter;
      break;
    case SPLIT:
      op.kernel = op.profile != nullptr                        ? split_profiled
                  : static_cast<SplitState*>(op.own)->keys > 0 ? SimPath::split_by_key
                                                               : SimPath::split;
      op.mark = SimPath::mark_split;
      break;
    case MERGE:
      op.kernel = SimPath::merge;
      op.mark = SimPath::mark_merge;
      break;
    case BARRIER:
      op.kernel = SimPath::barrier;
      op.mark = SimPath::mark_barrier;
      op.stream_ended = SimPath::input_ended;
      break;
    case BALANCE:
      op.kernel = SimPath::balance;
      break;
    case SINK:
      op.kernel = SimPath::sink;
      op.mark = SimPath::mark_sink;
      break;
    case CONTROL:
      op.kernel = SimPath::absorb;
      op.mark = SimPath::mark_sink;
      break;
    case TYPED:
      op.kernel = send_profiled;
      if (!op.profile->groups.empty()) op.stream_ended = group_ended;
      break;
    default:
      break;
  }
  const Route* only = op.outputs == 1 && op.routes[0].count == 1 ? &op.routes[0] : nullptr;
  if (only == nullptr || only->targets[0].port != nullptr || only->targets[0].op->kind == BARRIER)
    return;
  op.next = only->targets[0].op;
  op.next_path_step = only->targets[0].path_step;
}

}  // namespace millrace::sim
