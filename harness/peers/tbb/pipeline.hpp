// pipeline.hpp - chains of one length between a source and a sink: a filter for each step, which
// gets a pointer to a block of tuples. There is no queue between filters; the tokens bound what is
// in flight. One chain has serial filters, as elsewhere one thread at a time executes an operator.
// Of several, each filter executes the operators of its step in all chains, so it is parallel, or
// chains would wait for each other; the last one restores the order.
#pragma once

#include <oneapi/tbb/parallel_pipeline.h>

#include <memory>
#include <vector>

#include "run.hpp"
#include "spares.hpp"

namespace peer {

// Millrace starts this program with no graph of another shape.
class Chains {
 public:
  explicit Chains(const Plan& plan) {
    for (size_t i = 0; i < plan.operators.size(); ++i) {
      if (plan.operators[i].kind == Kind::SOURCE) source_ = i;
      if (plan.operators[i].kind == Kind::SINK) sink_ = i;
    }
    for (const auto& port : plan.operators[source_].ports) {
      chains_.emplace_back();
      Stream stream = port[0];
      uint32_t path = stream.step;
      while (stream.target != sink_) {
        chains_.back().push_back(stream.target);
        stream = plan.operators[stream.target].ports[0][0];
        path += stream.step;
      }
      paths_.push_back(path);
    }
  }

  size_t source() const { return source_; }
  size_t sink() const { return sink_; }
  size_t width() const { return chains_.size(); }
  size_t depth() const { return chains_[0].size(); }
  size_t at(const Block& block, size_t step) const { return chains_[block.port][step]; }
  uint32_t path(const Block& block) const { return paths_[block.port]; }

 private:
  size_t source_ = 0, sink_ = 0;
  std::vector<std::vector<size_t>> chains_;
  std::vector<uint32_t> paths_;
};

// Tokens in flight. Of tuples by themselves 64, or 256 where there are 100 steps or more. Of blocks
// four for each thread, as the example of oneTBB's guide has.
inline int pipeline_tokens(const Plan& plan) {
  if (plan.batch > 1) return 4 * oneapi::tbb::this_task_arena::max_concurrency();
  return Chains(plan).depth() >= 100 ? 256 : 64;
}

// Number of the calling thread in its arena.
inline size_t this_thread() {
  return static_cast<size_t>(oneapi::tbb::this_task_arena::current_thread_index());
}

inline void run_pipeline(Run& run, int tokens) {
  using oneapi::tbb::filter;
  using oneapi::tbb::filter_mode;
  using oneapi::tbb::make_filter;
  const Chains chains(run.plan);
  const bool alone = chains.width() == 1;
  const auto mode = alone ? filter_mode::serial_in_order : filter_mode::parallel;
  Spares spares(run.plan);
  Maker maker(run, chains.source());
  filter<void, Block*> steps = make_filter<void, Block*>(
      filter_mode::serial_in_order, [&](oneapi::tbb::flow_control& control) -> Block* {
        Block* block = maker.next([&] { return spares.take(); });
        if (block == nullptr) control.stop();
        return block;
      });
  for (size_t step = 0; step < chains.depth(); ++step) {
    steps = steps & make_filter<Block*, Block*>(mode, [&run, &chains, step, alone](Block* block) {
              const size_t number = chains.at(*block, step);
              if (!block->left && !run.leaves(number, block)) {
                run.work(
                    number, block,
                    alone ? run.tallies[number]->executed : run.executed_by(this_thread(), number));
              }
              return block;
            });
  }
  oneapi::tbb::parallel_pipeline(
      static_cast<size_t>(tokens),
      steps & make_filter<Block*, void>(filter_mode::serial_in_order, [&](Block* block) {
        block->add_to_paths(chains.path(*block));
        if (!block->left) run.receive(chains.sink(), block);
        spares.give_back(block);
      }));
}

}  // namespace peer
