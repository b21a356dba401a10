// crew.hpp - an operator's replicas in virtual time (C-Stream s4.2): the protocol of
// harness/native/replicas.hpp, and here what is at the operator's ports, and what copies
// into slots cost.
//
// An operator has no replicas, and is executed as any other, until some are asked for. From then on
// its own co-routine is the first of them, as soon as it next asks for tuples. Replicas share the
// operator's record: they are never in it at once, since its functions do not stop between two
// steps that belong together.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "coroutine_graph.hpp"
#include "replicas.hpp"
#include "sim_path.hpp"

namespace millrace::sim {

class Simulation::Crew {
 public:
  using All = millrace::Coroutines<VirtualPlatform, CoroutineGraph>;
  using Tuple = millrace::Tuple;
  struct Trace {
    Visit visit;          // counted from the beginning of the run
    int64_t born_ns = 0;  // of the first of them, about; for policies
  };

  Crew(Simulation& simulation, CoroutineGraph& graph, Port& port)
      : simulation_(simulation), graph_(graph), port_(port) {}

  uint64_t size() const noexcept { return graph_.size(port_.index); }
  bool closed() const noexcept { return port_.open_streams == 0; }
  // Final punctuation stays in the queue until all before it has been taken, and ends here. Window
  // punctuation goes the way of tuples.
  size_t front(All::Coroutine& co, size_t most, Tuple** first) {
    Worker& w = *co.fibre.worker;
    Ring& ring = port_.ring;
    for (;;) {
      simulation_.pass(w);
      simulation_.touch(w, port_.emptied, CONSUMER_BYTES);
      simulation_.look(w, ring.head_line);
      if (ring.tail_seen - ring.head() < most) {
        simulation_.look(w, ring.tail_line, simulation_.publications(static_cast<Count>(most)));
        ring.tail_seen = ring.tail();
      }
      const uint64_t place = ring.head() % ring.capacity();
      const auto count = static_cast<Count>(
          std::min({uint64_t{most}, ring.tail_seen - ring.head(), ring.capacity() - place}));
      if (count == 0) return 0;
      w.mixed += simulation_.software.take_batch * simulation_.publications(count);
      ring.copy(count, batch_.data());
      if (port_.stamps != nullptr) w.born_ns = port_.stamps->at(ring.head()).born_ns;
      *first = batch_.data();
      const auto is_final = [](const Tuple& tuple) { return tuple.kind == FINAL; };
      const auto data = static_cast<size_t>(
          std::find_if(batch_.begin(), batch_.begin() + count, is_final) - batch_.begin());
      if (data > 0) {
        simulation_.came_from(w, ring, static_cast<Count>(data));
        return data;
      }
      ++port_.marks_taken;
      --port_.open_streams;
      release(co, 1);
      taken(co);
    }
  }
  void release(All::Coroutine& co, size_t count) noexcept {
    port_.ring.pop(count);
    port_.ring.head_line.store(co.fibre.worker->core);
    simulation_.tell_spinning(port_);
  }
  void taken(All::Coroutine&) { simulation_.made_room(port_); }

  void copy(All::Coroutine& co, Tuple* to, const Tuple* first, size_t count, size_t, Trace& trace) {
    Worker& w = *co.fibre.worker;
    std::copy_n(first, count, to);
    simulation_.copy(w, static_cast<Count>(count), since(trace.visit));
    simulation_.filled += count * simulation_.slot_bytes;
    trace = {{w.core, simulation_.system.caches[w.core].used(), simulation_.filled}, w.born_ns};
  }
  void fetch(All::Coroutine& co, size_t count, const Trace& trace) {
    Worker& w = *co.fibre.worker;
    simulation_.came_from(w, static_cast<Count>(count), since(trace.visit));
    w.born_ns = trace.born_ns;
  }
  uint32_t bin(const Tuple* tuple) const noexcept {
    simulation_.acting_.worker->mixed += simulation_.software.key_tuple;
    return bin_of(tuple->sequence, port_.op->keys);
  }
  void passing(All::Coroutine& co) {
    Worker& w = *co.fibre.worker;
    SimPath::hand_over(&w);
  }
  size_t send(All::Coroutine& co, Tuple* first, size_t count) {
    Worker& w = *co.fibre.worker;
    send_in_runs(
        count, [&](size_t i) { return first + i; },
        [&](Tuple* run, uint32_t length) { SimPath::send_held(&w, run, length); });
    return count;  // a run that is over is told to each queue
  }

 private:
  Visit since(const Visit& visit) const noexcept {
    if (visit.core == Line::NOBODY) return simulation_.untouched();
    return {visit.core, simulation_.system.caches[visit.core].used() - visit.used,
            simulation_.filled - visit.filled};
  }

  Simulation& simulation_;
  CoroutineGraph& graph_;
  Port& port_;
  std::array<Tuple, MAX_BATCH> batch_;  // the front of the queue, for the replica that asked for it
};

}  // namespace millrace::sim
