// pipeline.hpp - chains of one length between a source and a sink: a filter for each step, a
// heap-allocated tuple handed on. There is no queue between filters; the tokens bound what is in
// flight. One chain has serial filters. Of several, each filter executes the operators of its step
// in all chains, several tuples at once, and the last one restores the order.
#pragma once

#include <oneapi/tbb/parallel_pipeline.h>

#include <memory>
#include <vector>

#include "run.hpp"

namespace peer {

class Chains {
 public:
  explicit Chains(const Plan& plan) {
    for (size_t i = 0; i < plan.operators.size(); ++i) {
      if (plan.operators[i].kind == "source") sources_.push_back(i);
      if (plan.operators[i].kind == "sink") sinks_.push_back(i);
    }
    if (sources_.size() != 1 || sinks_.size() != 1)
      refuse("a parallel pipeline has one source and one sink");
    for (const auto& port : plan.operators[source()].ports) {
      chains_.emplace_back();
      const std::vector<Stream>* streams = &port;
      for (uint32_t path = 0;;) {
        if (streams->size() != 1) refuse("a parallel pipeline sends a tuple one way");
        path += streams->front().step;
        const size_t next = streams->front().target;
        if (next == sink()) {
          paths_.push_back(path);
          break;
        }
        chains_.back().push_back(next);
        if (plan.operators[next].ports.size() != 1)
          refuse("a parallel pipeline has splits behind its source only");
        streams = &plan.operators[next].ports[0];
      }
      if (chains_.back().size() != chains_.front().size())
        refuse("a parallel pipeline has chains of one length");
    }
  }

  size_t source() const { return sources_[0]; }
  size_t sink() const { return sinks_[0]; }
  size_t width() const { return chains_.size(); }
  size_t depth() const { return chains_[0].size(); }
  size_t at(const Tuple& tuple, size_t step) const { return chains_[way(tuple)][step]; }
  uint32_t path(const Tuple& tuple) const { return paths_[way(tuple)]; }

 private:
  size_t way(const Tuple& tuple) const { return tuple.header.sequence % width(); }

  std::vector<size_t> sources_, sinks_;
  std::vector<std::vector<size_t>> chains_;
  std::vector<uint32_t> paths_;
};

// Tuples in flight: 64, or 256 where there are 100 steps or more.
inline int pipeline_tokens(const Plan& plan) { return Chains(plan).depth() >= 100 ? 256 : 64; }

inline void run_pipeline(const Plan& plan, Run& run, int tokens) {
  using oneapi::tbb::filter;
  using oneapi::tbb::filter_mode;
  using oneapi::tbb::make_filter;
  const Chains chains(plan);
  const bool alone = chains.width() == 1;
  const auto mode = alone ? filter_mode::serial_in_order : filter_mode::parallel;
  filter<void, Tuple*> steps = make_filter<void, Tuple*>(
      filter_mode::serial_in_order, [&](oneapi::tbb::flow_control& control) -> Tuple* {
        auto tuple = std::make_unique<Tuple>();
        if (!run.send(chains.source(), *tuple)) {
          control.stop();
          return nullptr;
        }
        return tuple.release();
      });
  for (size_t step = 0; step < chains.depth(); ++step) {
    steps = steps & make_filter<Tuple*, Tuple*>(mode, [&run, &chains, step, alone](Tuple* tuple) {
              const size_t number = chains.at(*tuple, step);
              if (!tuple->left && !run.leaves(number, *tuple)) run.work(number, *tuple, alone);
              return tuple;
            });
  }
  oneapi::tbb::parallel_pipeline(
      static_cast<size_t>(tokens),
      steps & make_filter<Tuple*, void>(filter_mode::serial_in_order, [&](Tuple* tuple) {
        const std::unique_ptr<Tuple> last(tuple);
        last->header.path = chains.path(*last);
        if (!last->left) run.receive(chains.sink(), *last);
      }));
}

}  // namespace peer
