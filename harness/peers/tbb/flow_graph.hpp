// flow_graph.hpp - a serial function node an operator, which queues what it is sent. Before it,
// behind each source, a limiter: queues of function nodes have no end, so that without it a fast
// source would fill the memory. Sinks give its tokens back.
#pragma once

#include <oneapi/tbb/flow_graph.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "run.hpp"

namespace peer {

namespace flow = oneapi::tbb::flow;

// Tuples in flight for each source: 64, or 10 for each way that it or a split has.
inline int graph_tokens(const Plan& plan) {
  size_t widest = 0;
  for (const auto& op : plan.operators) widest = std::max(widest, op.ports.size());
  return static_cast<int>(std::max<size_t>(64, 10 * widest));
}

class FlowGraph {
 public:
  FlowGraph(const Plan& plan, Run& run, int tokens)
      : plan_(plan), run_(run), copies_(plan.operators.size(), 0) {
    for (size_t i = 0; i < plan.operators.size(); ++i) {
      copies(i);
      if (plan.operators[i].kind == "source") {
        sources_.push_back(std::make_unique<Source>(*this, i, tokens));
        source_of_[i] = sources_.back().get();
      }
      nodes_.push_back(std::make_unique<Node>(
          graph_, flow::serial, [this, i](Tuple tuple) { return execute(i, std::move(tuple)); }));
      turns_.push_back(0);
    }
    for (size_t i = 0; i < plan.operators.size(); ++i) {
      if (is_edge(i)) flow::make_edge(*nodes_[i], *nodes_[plan.operators[i].ports[0][0].target]);
    }
    for (auto& source : sources_) {
      source->connect(
          *nodes_[is_edge(source->number) ? plan.operators[source->number].ports[0][0].target
                                          : source->number]);
    }
  }

  void run() {
    for (auto& source : sources_) source->input.activate();
    graph_.wait_for_all();
  }

 private:
  using Node = flow::function_node<Tuple, Tuple, flow::queueing>;

  struct Source {
    Source(FlowGraph& of, size_t number, int tokens)
        : number(number),
          input(of.graph_,
                [&of, number](oneapi::tbb::flow_control& control) {
                  Tuple tuple;
                  if (!of.run_.send(number, tuple)) control.stop();
                  return tuple;
                }),
          limiter(of.graph_, static_cast<size_t>(tokens)) {}

    void connect(Node& first) {
      flow::make_edge(input, limiter);
      flow::make_edge(limiter, first);
    }

    size_t number;
    flow::input_node<Tuple> input;
    flow::limiter_node<Tuple> limiter;
    std::atomic<uint64_t> arrived{0};
  };

  // Whether what it returns goes to its one successor by an edge. Others send for themselves: an
  // edge goes to every successor.
  bool is_edge(size_t i) const {
    const auto& ports = plan_.operators[i].ports;
    return ports.size() == 1 && ports[0].size() == 1 && ports[0][0].step == 0;
  }

  Tuple execute(size_t i, Tuple tuple) {
    const Operator& op = plan_.operators[i];
    if (tuple.left) return tuple;
    if (op.kind == "sink") {
      run_.receive(i, tuple);
      give_back(tuple.source, 1);
      return tuple;
    }
    if (op.kind == "work") {
      if (run_.leaves(i, tuple)) {
        give_back(tuple.source, copies(i));
        return tuple;  // an edge goes on all the same
      }
      run_.work(i, tuple, true);
    }
    if (!is_edge(i)) {
      const auto& streams = op.ports[turns_[i]];
      const uint32_t path = tuple.header.path;
      for (const Stream& stream : streams) {
        tuple.header.path = path + stream.step;
        nodes_[stream.target]->try_put(tuple);
      }
      turns_[i] = (turns_[i] + 1) % op.ports.size();
    }
    return tuple;
  }

  // A token of a source comes back when all copies of its tuple have arrived.
  void give_back(size_t number, uint64_t arrived) {
    Source& source = *source_of_.at(number);
    const uint64_t of_tuple = copies(number);
    const uint64_t before = source.arrived.fetch_add(arrived);
    for (uint64_t token = before / of_tuple; token < (before + arrived) / of_tuple; ++token) {
      source.limiter.decrementer().try_put(flow::continue_msg());
    }
  }

  // Tuples at the sinks for one that arrives at an operator; the same by each of its ports.
  uint64_t copies(size_t i) {
    if (copies_[i] == 0) {
      uint64_t sum = plan_.operators[i].kind == "sink" ? 1 : 0;
      if (sum == 0) {
        for (const Stream& stream : plan_.operators[i].ports[0]) sum += copies(stream.target);
      }
      copies_[i] = sum;
    }
    return copies_[i];
  }

  const Plan& plan_;
  Run& run_;
  flow::graph graph_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<size_t, Source*> source_of_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<size_t> turns_;
  std::vector<uint64_t> copies_;
};

inline void run_graph(const Plan& plan, Run& run, int tokens) {
  FlowGraph(plan, run, tokens).run();
}

}  // namespace peer
