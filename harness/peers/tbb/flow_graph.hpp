// flow_graph.hpp - a serial function node an operator, which queues what it is sent: pointers to
// blocks of tuples. Before it, behind each source, a limiter: queues of function nodes have no end,
// so that without it a fast source would fill the memory. Sinks give its tokens back.
#pragma once

#include <oneapi/tbb/flow_graph.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "run.hpp"
#include "spares.hpp"

namespace peer {

namespace flow = oneapi::tbb::flow;

// Blocks in flight for each source: 64 tuples, or 10 for each way that it or a split has. Of larger
// blocks, four for each thread or way.
inline int graph_tokens(const Plan& plan) {
  size_t widest = 1;
  for (const auto& op : plan.operators) widest = std::max(widest, op.ports.size());
  if (plan.batch == 1) return static_cast<int>(std::max<size_t>(64, 10 * widest));
  const auto threads = static_cast<size_t>(oneapi::tbb::this_task_arena::max_concurrency());
  return static_cast<int>(4 * std::max(widest, threads));
}

// True if every block takes about a microsecond or less at every operator: then a node had better
// be executed by the thread that sends to it, which oneTBB's guide calls lightweight.
inline bool is_light(const Plan& plan) {
  constexpr size_t LIGHT_FLOP = 1000;
  return plan.batch > 1 &&
         std::all_of(plan.operators.begin(), plan.operators.end(), [&](const Operator& op) {
           return op.busy_ns == 0 && op.cost * plan.batch < LIGHT_FLOP;
         });
}

template <class Policy>
class FlowGraph {
 public:
  FlowGraph(Run& run, int tokens)
      : plan_(run.plan),
        run_(run),
        spares_(plan_),
        source_of_(plan_.operators.size(), nullptr),
        copies_(plan_.operators.size(), 0) {
    for (size_t i = 0; i < plan_.operators.size(); ++i) {
      copies(i);
      if (plan_.operators[i].kind == Kind::SOURCE) {
        sources_.push_back(std::make_unique<Source>(*this, i, tokens));
        source_of_[i] = sources_.back().get();
      }
      nodes_.push_back(std::make_unique<Node>(
          graph_, flow::serial, [this, i](Block* block) noexcept { return execute(i, block); }));
      turns_.push_back(0);
    }
    for (size_t i = 0; i < plan_.operators.size(); ++i) {
      if (is_edge(i)) flow::make_edge(*nodes_[i], *nodes_[plan_.operators[i].ports[0][0].target]);
    }
    for (auto& source : sources_) {
      source->connect(
          *nodes_[is_edge(source->number) ? plan_.operators[source->number].ports[0][0].target
                                          : source->number]);
    }
  }

  void run() {
    for (auto& source : sources_) source->input.activate();
    graph_.wait_for_all();
  }

 private:
  using Node = flow::function_node<Block*, Block*, Policy>;

  struct Source {
    Source(FlowGraph& of, size_t number, int tokens)
        : number(number),
          of_token(of.copies(number) * of.plan_.batch),
          maker(of.run_, number),
          input(of.graph_,
                [&of, this](oneapi::tbb::flow_control& control) {
                  Block* block = maker.next([&of] { return of.spares_.take(); });
                  if (block == nullptr) control.stop();
                  return block;
                }),
          limiter(of.graph_, static_cast<size_t>(tokens)) {}

    void connect(Node& first) {
      flow::make_edge(input, limiter);
      flow::make_edge(limiter, first);
    }

    size_t number;
    uint64_t of_token;  // weight of what arrives at the sinks for one of its tokens
    Maker maker;
    flow::input_node<Block*> input;
    flow::limiter_node<Block*> limiter;
    std::atomic<uint64_t> arrived{0};
  };

  // Whether what it returns goes to its one successor by an edge. Others send for themselves: an
  // edge goes to every successor.
  bool is_edge(size_t i) const {
    const auto& ports = plan_.operators[i].ports;
    return ports.size() == 1 && ports[0].size() == 1 && ports[0][0].step == 0;
  }

  Block* execute(size_t i, Block* block) {
    const Operator& op = plan_.operators[i];
    if (block->left) return block;
    if (op.kind == Kind::SINK) {
      run_.receive(i, block);
      give_back(block, 1);
      return nullptr;
    }
    if (op.kind == Kind::WORK) {
      if (run_.leaves(i, block)) {
        give_back_left(i, block);
        return block;  // an edge goes on all the same
      }
      run_.work(i, block, run_.tallies[i]->executed);
      if (op.ports.size() > 1) {
        divide(i, block);
        return block;
      }
    }
    if (!is_edge(i)) send(op.ports[op.kind == Kind::SOURCE ? block->port : 0], block);
    return block;
  }

  // A block's tuples take the output ports in turn.
  void divide(size_t i, Block* block) {
    const Operator& op = plan_.operators[i];
    std::vector<Block*> parts(op.ports.size(), nullptr);
    for (size_t k = 0; k < block->count; ++k) {
      Block*& part = parts[turns_[i]];
      if (part == nullptr) part = like(*block);
      part->copy_from(*block, k, 1, plan_.payload);
      turns_[i] = (turns_[i] + 1) % op.ports.size();
    }
    uint64_t rest = block->weight - block->count;  // of the token of a block that was not full
    for (size_t port = 0; port < parts.size(); ++port) {
      if (parts[port] == nullptr) continue;
      parts[port]->weight = parts[port]->count + std::exchange(rest, 0);
      send(op.ports[port], parts[port]);
    }
    spares_.give_back(block);
  }

  // To every stream of a port: a copy to each but the last.
  void send(const std::vector<Stream>& streams, Block* block) {
    for (size_t k = 0; k + 1 < streams.size(); ++k) {
      Block* copy = like(*block);
      copy->copy_from(*block, 0, block->count, plan_.payload);
      hand(streams[k], copy);
    }
    hand(streams.back(), block);
  }

  void hand(const Stream& stream, Block* block) {
    block->add_to_paths(stream.step);
    nodes_[stream.target]->try_put(block);
  }

  Block* like(const Block& block) {
    Block* made = spares_.take();
    made->source = block.source;
    made->weight = block.weight;
    return made;
  }
  void give_back_left(size_t i, Block* block) {
    count_arrived(*source_of_[block->source], block->weight * copies(i));
  }
  void give_back(Block* block, uint64_t times) {
    Source& source = *source_of_[block->source];
    const uint64_t weight = block->weight;
    if (!block->left) spares_.give_back(block);
    count_arrived(source, weight * times);
  }

  // A token of a source comes back when all copies of its tuples have arrived. They are counted
  // only if they have not come in one block.
  void count_arrived(Source& source, uint64_t weight) {
    uint64_t tokens = 1;
    if (weight != source.of_token) {
      const uint64_t before = source.arrived.fetch_add(weight, std::memory_order_relaxed);
      tokens = (before + weight) / source.of_token - before / source.of_token;
    }
    for (; tokens > 0; --tokens) source.limiter.decrementer().try_put(flow::continue_msg());
  }

  // Tuples at the sinks for one that arrives at an operator; the same by each of its ports.
  uint64_t copies(size_t i) {
    if (copies_[i] == 0) {
      uint64_t sum = plan_.operators[i].kind == Kind::SINK ? 1 : 0;
      if (sum == 0) {
        for (const Stream& stream : plan_.operators[i].ports[0]) sum += copies(stream.target);
      }
      copies_[i] = sum;
    }
    return copies_[i];
  }

  const Plan& plan_;
  Run& run_;
  Spares spares_;
  flow::graph graph_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<Source*> source_of_;  // by number; null: no source
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<size_t> turns_;
  std::vector<uint64_t> copies_;
};

inline void run_graph(Run& run, int tokens) {
  is_light(run.plan) ? FlowGraph<flow::queueing_lightweight>(run, tokens).run()
                     : FlowGraph<flow::queueing>(run, tokens).run();
}

}  // namespace peer
