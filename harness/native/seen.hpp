// seen.hpp - what is known of a co-routine, and what policies see of it (policies.hpp).
//
// A graph, as coroutines.hpp has it, gives access to the facts:
//
//   inputs(co), outputs(co)   its ports, as `port` takes them
//   queued_before(port), queued_behind(port), stamp_of(port)   what is there
//   performance(co), taken(co), pushed(co)   how the co-routine does
//   age_of_none(scheduled_ns) the time that counts where no tuple waits
//   own(co)                   of a replica: its operator's own co-routine
//   batch(co), index(co)      tuples that it takes at once at most, and its operator's index
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "coroutines.hpp"
#include "counter.hpp"
#include "policies.hpp"
#include "protocol.hpp"
#include "stamps.hpp"

namespace millrace {

// A rate, as a mean of which a quarter is new.
inline void average(double& value, double now) noexcept {
  value = value == 0.0 ? now : 0.75 * value + 0.25 * now;
}

// Tuples that a co-routine has taken from one of several ports, or sent there: the count of the
// port, where no other one takes or sends. Found and read as Performance.
struct PortRate {
  uint64_t counted = 0;
  double per_s = 0.0;
  void measure(int64_t turn_ns, uint64_t count) noexcept {
    average(per_s, static_cast<double>(count - counted) * 1e9 /
                       static_cast<double>(std::max<int64_t>(turn_ns, 1)));
    counted = count;
  }
};

// How a co-routine does: found at the end of its turns, and read by policies while it is ready.
template <class Platform>
struct Performance {
  template <class T>
  using Word = typename Platform::template Word<T>;

  BasicCounter<Platform> busy_ns, taken, pushed;
  Word<int64_t> runs_since{0};  // 0: it does not run
  double reads_per_s = 0.0, writes_per_s = 0.0;
  // by find_gains: the counts that it has used, and what a tuple costs and how many are sent for it
  uint64_t gain_taken = 0, gain_pushed = 0, gain_busy = 0;
  double cost_s = 0.0, selectivity = 1.0;
  double arrives = 0.0, takes_s = 0.0;  // until a tuple is at a sink: tuples there, and seconds
  Word<double> gain_per_s{0.0};

  void begins(int64_t now_ns) noexcept { runs_since.store(now_ns, std::memory_order_relaxed); }
  void ends(int64_t began_ns, int64_t now_ns) noexcept {
    runs_since.store(0, std::memory_order_relaxed);
    busy_ns.add(static_cast<uint64_t>(now_ns - began_ns));
  }
  // Rates of a turn of so long. `taken_now`, `pushed_now`: tuples since the start; `ports`: to
  // which it sends.
  void measure(int64_t turn_ns, uint64_t taken_now, uint64_t pushed_now, size_t ports) noexcept {
    const auto took_s = static_cast<double>(std::max<int64_t>(turn_ns, 1)) * 1e-9;
    const uint64_t read = taken_now - taken.read(), written = pushed_now - pushed.read();
    average(reads_per_s, static_cast<double>(read) / took_s);
    average(writes_per_s, static_cast<double>(written) /
                              (took_s * static_cast<double>(std::max<size_t>(ports, 1))));
    taken.add(read);
    pushed.add(written);
  }
  // Time until now for which it was executed.
  uint64_t useful_ns(int64_t now_ns) const noexcept {
    const int64_t since = runs_since.load(std::memory_order_relaxed);
    return busy_ns.read() +
           (since == 0 ? 0 : static_cast<uint64_t>(std::max<int64_t>(now_ns - since, 0)));
  }
};

inline constexpr int64_t GAINS_EVERY_NS = 10'000'000;  // find_gains
inline constexpr uint64_t LEAST_TAKEN = 64;            // tuples that a cost is an average of

// HR (Sharaf et al., TODS 33(1), 2008): of each co-routine, what becomes of a tuple until it is at
// a sink, over what it costs until then. Output ports are taken for equal. `downstream_first`:
// co-routines, each behind all that it sends to.
template <class Graph>
void find_gains_of(Graph& graph, const std::vector<uint32_t>& downstream_first) {
  for (const uint32_t co : downstream_first) {
    auto& of = graph.performance(co);
    const uint64_t taken = graph.taken(co), pushed = graph.pushed(co), busy = of.busy_ns.read();
    if (taken - of.gain_taken >= LEAST_TAKEN) {
      const auto tuples = static_cast<double>(taken - of.gain_taken);
      of.cost_s = static_cast<double>(busy - of.gain_busy) * 1e-9 / tuples;
      of.selectivity = static_cast<double>(pushed - of.gain_pushed) / tuples;
      of.gain_taken = taken, of.gain_pushed = pushed, of.gain_busy = busy;
    }
    const auto& outputs = graph.outputs(co);
    double arrives = outputs.empty() ? 1.0 : 0.0, takes = of.cost_s;
    const double share = of.selectivity / static_cast<double>(std::max<size_t>(outputs.size(), 1));
    for (const auto output : outputs) {
      const uint32_t next = graph.reader(graph.port(output).index);
      arrives += share * (next == NO_CO ? 1.0 : graph.performance(next).arrives);
      takes += share * (next == NO_CO ? 0.0 : graph.performance(next).takes_s);
    }
    of.arrives = arrives, of.takes_s = takes;
    of.gain_per_s.store(arrives / std::max(takes, 1e-9), std::memory_order_relaxed);
  }
}

// What a policy that needs so much sees of a co-routine.
template <class Graph>
Seen see(Graph& graph, uint32_t co, int64_t scheduled_ns, uint32_t needed) {
  const auto& inputs = graph.inputs(co);
  Seen seen{};
  seen.index = graph.index(co);
  seen.source = inputs.empty();
  seen.scheduled_ns = scheduled_ns;
  seen.enqueued_ns = seen.born_ns = seen.source ? scheduled_ns : graph.age_of_none(scheduled_ns);
  seen.batch = graph.batch(co);
  bool first = true;
  for (const auto input : inputs) {
    auto& port = graph.port(input);
    const uint64_t queued = graph.queued_before(port);
    seen.queued += queued;
    if (queued == 0 || (needed & TIMES) == 0 || port.stamps == nullptr) continue;
    const Stamps::Stamp stamp = graph.stamp_of(port);
    seen.enqueued_ns = first ? stamp.enqueued_ns : std::min(seen.enqueued_ns, stamp.enqueued_ns);
    seen.born_ns = first ? stamp.born_ns : std::min(seen.born_ns, stamp.born_ns);
    first = false;
  }
  const auto& does = graph.performance(co);
  if ((needed & RATES) != 0)
    seen.reads_per_s = does.reads_per_s, seen.writes_per_s = does.writes_per_s;
  if ((needed & BEHIND) != 0) {
    seen.room = UINT64_MAX;
    for (const auto output : graph.outputs(co)) {
      auto& port = graph.port(output);
      const uint64_t queued = graph.queued_behind(port);
      seen.room = std::min<uint64_t>(seen.room, port.ring.capacity() - queued);
      seen.queued_behind = std::max(seen.queued_behind, queued);
    }
  }
  if ((needed & PORTS) != 0) {
    seen.inputs = static_cast<uint32_t>(inputs.size());
    seen.outputs = static_cast<uint32_t>(graph.outputs(co).size());
  }
  if ((needed & GAIN) != 0)
    seen.gain_per_s = graph.performance(graph.own(co)).gain_per_s.load(std::memory_order_relaxed);
  return seen;
}

// A thread of the pool goes to sleep for want of a co-routine, or because it is suspended.
template <class Worker>
void rest_of(Worker& worker, bool suspended) {
  worker.waits.add(1);
  (suspended ? worker.asleep : worker.idle).start();
  worker.rest.store(suspended ? SUSPENDED : IDLE, std::memory_order_release);
}

// A thread ends its rest.
template <class Worker>
void end_rest_of(Worker& worker, bool suspended) {
  (suspended ? worker.asleep : worker.idle).stop();
}

// True if a merge has got as far as an order.
template <class Merge>
bool has_reached(const Merge& merge, uint32_t order) {
  return static_cast<int32_t>(merge.next.load(std::memory_order_relaxed) - order) >= 0;
}

// True if an active buffer of a load balance has room; `room(port)` is the room of one.
template <class Balance, class Operator, class Room>
bool has_room(const Balance& balance, const Operator& op, Room room) {
  const uint32_t active = balance.active.load(std::memory_order_relaxed);
  for (uint32_t way = 0; way < active; ++way) {
    if (room(op.routes[way].targets[0].port->index) > 0) return true;
  }
  return false;
}

}  // namespace millrace
