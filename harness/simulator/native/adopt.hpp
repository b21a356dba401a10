// adopt.hpp - from the runtime's plan of a graph (harness/runtime/plan.pyx) to a simulation of it: both engines execute one plan.
//
// What the plan has proved and chosen is taken over as it is: which locks and flags are left out, how many tuples are handed over at once,
// when threads are woken. The plan's queues stay empty: it is never run.
#pragma once

#include <unordered_map>
#include <vector>

#include "../../runtime/native/state.hpp"
#include "simulation.hpp"
#include "state.hpp"

namespace millrace::sim {

inline constexpr uint32_t STEP = 8;  // tuples, at most, of which a runtime that works on one at a time does several in one event

// Sizes of batches and drains, which depend on the queues that are switched on.
inline void take_over_sizes(Simulation& simulation, const millrace::Run& run) {
  const uint32_t most = simulation.software.batch;
  const auto batch = [most](uint32_t planned) { return most > 1 ? std::min(planned, most) : std::clamp(planned / 4, 1u, STEP); };
  for (uint32_t i = 0; i < run.port_count; ++i) {
    Port& port = simulation.ports[i];
    port.batch = batch(run.ports[i].batch.load(std::memory_order_relaxed));
    const uint64_t slots = port.ring.capacity();
    port.most = simulation.software.queueful ? static_cast<uint32_t>(slots + 2) : run.ports[i].most.load(std::memory_order_relaxed);
    port.wake_at = most > 1 ? run.ports[i].wake_at.load(std::memory_order_relaxed) : 1;
  }
  for (uint32_t i = 0; i < run.operator_count; ++i) {
    Operator& op = simulation.operators[i];
    if (op.kind == SOURCE)
      op.batch = batch(static_cast<millrace::SourceState*>(run.operators[i].own)->batch.load(std::memory_order_relaxed));
  }
}

inline void take_over_state(Simulation& simulation, Operator& op, const millrace::Run& run,
                            const std::unordered_map<const void*, Operator*>& by_state) {
  const void* own = run.operators[op.index].own;
  switch (op.kind) {
    case SOURCE: {
      const auto& state = *static_cast<const millrace::SourceState*>(own);
      op.limit = state.limit;
      op.window = state.window;
      op.buffer.resize(state.room);
      for (uint32_t i = 0; i < state.pace_count; ++i) op.paces.push_back({state.paces[i].length_ns * 1000, state.paces[i].gap_ns * 1000});
      break;
    }
    case BURSTS: {
      const auto& state = *static_cast<const millrace::BurstState*>(own);
      op.ends.assign(state.ends, state.ends + state.count);
      op.costs.assign(state.costs, state.costs + state.count);
      break;
    }
    case FILTER: {
      const auto& state = *static_cast<const millrace::FilterState*>(own);
      op.threshold = state.threshold;
      op.all = state.all;
      break;
    }
    case SPLIT: {
      const auto& state = *static_cast<const millrace::SplitState*>(own);
      op.keys = state.keys;
      op.ahead = state.ahead;
      op.merge = state.merge == nullptr ? nullptr : by_state.at(state.merge);
      for (uint32_t i = 0; i < state.port_count; ++i)
        op.between.push_back(&simulation.ports[static_cast<size_t>(state.ports[i] - run.ports)]);
      break;
    }
    case MERGE: {
      const auto& state = *static_cast<const millrace::MergeState*>(own);
      op.slots.resize(state.mask + 1);
      op.present.assign(state.mask + 1, 0);
      simulation.ring_bytes += op.slots.size() * run.stride;
      break;
    }
    case BALANCE:
      op.active = static_cast<const millrace::BalanceState*>(own)->active.load(std::memory_order_relaxed);
      simulation.system.make_queue(op.room);
      break;
    case SINK:
    case CONTROL:
      op.next_of_path.assign(static_cast<const millrace::SinkState*>(own)->paths, 0);
      op.latency = &simulation.histograms.emplace_back();
      break;
    default:
      break;
  }
}

// `kinds`: of each operator. Workers from `first_scheduler` on are of the pool.
inline void adopt(Simulation& simulation, const millrace::Run& run, const std::vector<uint32_t>& kinds, uint32_t first_scheduler) {
  simulation.stride = static_cast<uint32_t>(run.stride);
  simulation.payload = run.payload;
  simulation.pool = run.ready != nullptr ? &Simulation::scheduled : nullptr;
  simulation.own_threads = first_scheduler;
  std::unordered_map<const void*, Operator*> by_state;
  for (uint32_t i = 0; i < run.operator_count; ++i) {
    const millrace::Operator& planned = run.operators[i];
    Operator& op = simulation.operators[i];
    op.kind = static_cast<OperatorKind>(kinds[i]);
    op.index = i;
    op.cost = planned.cost;
    op.copies = planned.copies;
    op.open_streams = planned.open_streams;
    if (planned.lock != nullptr) op.lock = simulation.make_mutex();
    if (planned.own != nullptr) by_state[planned.own] = &op;
    op.routes.resize(planned.outputs);
    for (uint32_t r = 0; r < planned.outputs; ++r) {
      const millrace::Route& route = planned.routes[r];
      if (route.scratch != nullptr) op.routes[r].scratch.resize(MAX_BATCH);
      for (uint32_t t = 0; t < route.count; ++t) {
        const millrace::Target& target = route.targets[t];
        Target taken;
        taken.op = &simulation.operators[target.op->index];
        taken.port = target.port == nullptr ? nullptr : &simulation.ports[target.port->index];
        taken.path_step = target.path_step;
        taken.lazy_wake = target.lazy_wake;
        op.routes[r].targets.push_back(taken);
      }
    }
  }
  for (Operator& op : simulation.operators) take_over_state(simulation, op, run, by_state);
  for (uint32_t i = 0; i < run.port_count; ++i) {
    const millrace::Port& planned = run.ports[i];
    Port& port = simulation.ports[i];
    port.index = i;
    port.op = &simulation.operators[planned.op->index];
    port.ring.resize(planned.ring.capacity());
    port.shared = planned.shared;
    port.discipline = planned.discipline->pooled ? &Simulation::scheduled : &Simulation::threaded;
    port.open_streams = planned.open_streams;
    port.mode = planned.mode.load(std::memory_order_relaxed);
    port.room = &port.own_room;
    if (planned.call_lock != nullptr) port.call_lock = simulation.make_mutex();
    port.sole = planned.sole.load(std::memory_order_relaxed);
    simulation.system.make_queue(port.arrivals);
    simulation.system.make_queue(port.own_room);
    simulation.ring_bytes += planned.ring.capacity() * run.stride;
  }
  for (Operator& op : simulation.operators) {
    if (op.kind != BALANCE) continue;
    for (Route& route : op.routes) {
      Port& port = *route.targets[0].port;
      port.balance = &op;
      port.room = &op.room;
    }
  }
  for (uint32_t i = 0; i < run.worker_count; ++i) {
    Worker& worker = simulation.workers[i];
    worker.pooled = i >= first_scheduler;
    if (run.workers[i].op != nullptr) worker.op = &simulation.operators[run.workers[i].op->index];
    if (run.workers[i].port != nullptr) worker.port = &simulation.ports[run.workers[i].port->index];
  }
  simulation.contexts = run.contexts;
  take_over_sizes(simulation, run);
}

}  // namespace millrace::sim
