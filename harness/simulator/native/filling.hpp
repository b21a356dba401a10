// filling.hpp - a run that begins with tuples in its queues.
//
// A pipeline of 1,000 operators takes longer to fill than a simulation can afford, and filling is
// not what is asked about. So a timed run may begin as if it had gone on for a while: tuples are
// sent through the graph in no time and stay where they are meant to. Every tuple has passed the
// operators that it has passed, so ORDER and ONCE hold and are checked as ever.
//
// Ports are filled from the sinks upwards, all those with the same number of queues behind them at
// a time; a tuple meets no other queue on its way. Whether a run has settled is asked afterwards as
// always. Not for graphs with a merge: queues that overflow while others fill would bring it tuples
// out of their order.
#pragma once

#include "operators.hpp"
#include "primitives.hpp"

namespace millrace::sim {

inline void Simulation::fill_queues(const std::vector<std::vector<uint32_t>>& levels,
                                    const std::vector<double>& shares, double all_alike) {
  const Present present(acting_);
  std::vector<uint64_t> holds(ports.size(), 0);  // by port: most tuples; 0: none yet
  const auto wanted = [&](uint32_t port) {
    return (shares.empty() ? all_alike : shares[port]) *
           static_cast<double>(ports[port].ring.capacity());
  };
  uint64_t least = UINT64_MAX;
  for (const Port& port : ports) least = std::min(least, port.ring.capacity());
  const Count at_once = static_cast<Count>(std::min<uint64_t>(MAX_BATCH, least));
  std::vector<Tuple> batch(at_once);
  for (const std::vector<uint32_t>& level : levels) {
    for (const uint32_t port : level)
      holds[port] =
          shares.empty() ? ports[port].ring.capacity() : static_cast<uint64_t>(wanted(port));
    const auto wants_more = [&] {
      return std::any_of(level.begin(), level.end(), [&](uint32_t port) {
        const auto size = static_cast<double>(ports[port].ring.size());
        return holds[port] > 0 && size < std::min(wanted(port), static_cast<double>(holds[port]));
      });
    };
    // ports that get nothing, or ever less than others, must not keep this going for ever
    for (uint64_t rounds = 0; rounds < 64 * ports[level.front()].ring.capacity() && wants_more();
         ++rounds) {
      for (Operator& source : operators) {
        if (source.kind != SOURCE) continue;
        auto& state = *static_cast<SourceState*>(source.own);
        if (state.limit - state.sent < at_once) continue;
        for (Tuple& tuple : batch) {
          tuple.born_ns = 0;
          SimPath::make_tuple(&state, &tuple, payload);
        }
        source.processed.add(at_once);
        pour_out(holds, source.routes[0], batch.data(), at_once);
      }
    }
  }
  for (const Port& port : ports)
    filled += port.ring.size() * slot_bytes;  // so long ago were they all touched
  std::vector<uint32_t> listed;
  for (Port& port : ports) {
    port.ring.tail_seen = port.ring.tail();
    port.ring.head_seen = port.ring.head();
    if (!port.discipline->pooled || (port.ring.size() == 0 && !software.printed)) continue;
    port.ready.set();
    listed.push_back(port.index);
  }
  // After a while ports are on the list in any order. In the graph's order, threads that take
  // neighbours would all wait for the last one.
  for (size_t i = listed.size(); i > 1; --i) std::swap(listed[i - 1], listed[system.random() % i]);
  ready_.ports.assign(listed.begin(), listed.end());
  listed_ = true;
}

inline void Simulation::pour_out(const std::vector<uint64_t>& holds, Route& route, Tuple* first,
                                 Count count) {
  for (size_t i = 0; i < route.targets.size(); ++i) {
    const Target& target = route.targets[i];
    const bool last = i + 1 == route.targets.size();
    if (target.port != nullptr && holds[target.port->index] > 0) {
      make_room(holds, *target.port, count);
      target.port->ring.append(first, 1, count, target.path_step);
      continue;
    }
    std::vector<Tuple> copies;
    if (!last) copies.assign(first, first + count);
    Tuple* batch = last ? first : copies.data();
    for (Count j = 0; j < count; ++j) batch[j].path += target.path_step;
    pour(holds, target.op, batch, count);
  }
}

// A port that has what it shall hold executes the oldest ones when more come, as ports do.
inline void Simulation::make_room(const std::vector<uint64_t>& holds, Port& port, Count count) {
  Ring& ring = port.ring;
  const uint64_t most = std::max<uint64_t>(holds[port.index], count);
  while (ring.size() + count > most) {
    Tuple oldest;
    ring.copy(1, &oldest);
    ring.pop(1);
    pour(holds, port.op, &oldest, 1);
  }
}

inline void Simulation::pour(const std::vector<uint64_t>& holds, Operator* op, Tuple* first,
                             Count count) {
  for (;;) {
    op->processed.add(count);
    if (op->kind == SINK || op->kind == CONTROL) {
      SimPath::sink(op, &workers[0], first, count);
      return;
    }
    const bool chooses = op->kind == FILTER || op->chosen != nullptr;
    if (op->kind == SPLIT || chooses || op->routes.size() > 1) {
      for (Count i = 0; i < count; ++i) {
        Tuple& tuple = first[i];
        Route* route = &op->routes[0];
        if (chooses) {
          if (op->chosen != nullptr &&
              !passes(fingerprint(tuple.sequence ^ op->chosen->seed), op->chosen->threshold)) {
            op->dropped += fingerprint(tuple.sequence) * op->copies;
            continue;
          }
          op->emitted.add(1);
        }
        if (op->kind == SPLIT || op->routes.size() > 1) {
          const uint64_t keys = op->kind == SPLIT ? static_cast<SplitState*>(op->own)->keys : 0;
          if (op->kind == SPLIT) tuple.order = op->order++;
          if (keys > 0) {
            route = &op->routes[way_of(key_of(tuple.sequence, keys),
                                       static_cast<uint32_t>(op->routes.size()))];
            route->sent.add(1);
          } else {
            route = &op->routes[op->turn];
            op->turn = op->turn + 1 < op->routes.size() ? op->turn + 1 : 0;
          }
        }
        pour_out(holds, *route, &tuple, 1);
      }
      return;
    }
    Route& route = op->routes[0];
    const Target& target = route.targets[0];
    if (route.targets.size() > 1 || (target.port != nullptr && holds[target.port->index] > 0)) {
      pour_out(holds, route, first, count);
      return;
    }
    if (target.path_step != 0) {
      for (Count i = 0; i < count; ++i) first[i].path += target.path_step;
    }
    op = target.op;
  }
}

}  // namespace millrace::sim
