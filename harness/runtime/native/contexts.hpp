// contexts.hpp - which input ports are fed from one context alone, as queues come and go.
//
// A *context* executes one thing at a time: the thread of a source, whoever holds the consumer flag of a queued port, whoever holds the lock
// of an operator that several contexts call (analysis.py). While all who send to a called port are in one context nobody else can be in it,
// so it needs no lock. Which ports these are changes with each queue; both engines ask here, at each change.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace {

class Contexts {
 public:
  static constexpr uint32_t NO_QUEUE = UINT32_MAX;

  Contexts(uint32_t operators, uint32_t queues) : arriving_(operators), context_(operators), feeding_(queues), queues_(queues) {}

  // To build it: operators in topological order, and each stream with the queue of the port that it leads to.
  void add_operator(uint32_t index) { order_.push_back(index); }
  void add_stream(uint32_t source, uint32_t target, uint32_t queue) { arriving_[target].push_back({source, queue}); }

  // `queued(q)`: whether queue q is on; `tell(q, sole)`: whether the port of queue q is fed from one context. Looks at each stream once.
  template <class Queued, class Tell>
  void refresh(Queued queued, Tell tell) {
    const uint32_t operators = static_cast<uint32_t>(context_.size());
    feeding_.assign(queues_, NONE);
    for (const uint32_t index : order_) {
      uint32_t all = NONE;
      for (const Arriving& stream : arriving_[index]) {
        uint32_t context = context_[stream.source];
        if (stream.queue != NO_QUEUE) {
          uint32_t& feeding = feeding_[stream.queue];
          feeding = feeding == NONE || feeding == context ? context : SEVERAL;
          if (queued(stream.queue)) context = operators + stream.queue;
        }
        if (all == NONE) all = context;
        if (all != context) all = operators + queues_ + index;
      }
      context_[index] = all == NONE ? index : all;
    }
    for (uint32_t queue = 0; queue < queues_; ++queue) tell(queue, feeding_[queue] != SEVERAL);
  }

  std::mutex changing;  // held by who changes what is; nobody waits for anything while holding it

 private:
  static constexpr uint32_t NONE = UINT32_MAX, SEVERAL = UINT32_MAX - 1;
  struct Arriving {
    uint32_t source, queue;
  };
  std::vector<uint32_t> order_;
  std::vector<std::vector<Arriving>> arriving_;  // by operator
  std::vector<uint32_t> context_;                // by operator: a source, a queue, or a lock
  std::vector<uint32_t> feeding_;                // by queue: the context that its port is fed from
  uint32_t queues_;
};

}  // namespace millrace
