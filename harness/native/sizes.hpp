// sizes.hpp - how many tuples are handed over at once, how long drains are, and when threads are
// woken: from the work that follows by calls.
//
// That changes with each queue that comes or goes; both engines ask here, at each change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "protocol.hpp"

namespace millrace {

class Sizes {
 public:
  static constexpr uint32_t NO_QUEUE = UINT32_MAX;
  struct OfQueue {
    uint32_t batch;    // tuples that are handed to the operator at once
    uint32_t most;     // tuples of a drain
    uint32_t wake_at;  // tuples in the queue at which a thread of its own is woken at the latest
  };

  // `most`: tuples of a batch at most, as the model says.
  Sizes(size_t stride, uint32_t most, uint32_t operators, uint32_t queues)
      : most_(std::min(most_at_once(stride), most)),
        operators_(operators),
        queues_(queues),
        cost_(operators),
        room_(operators) {}

  // To build it: all operators in topological order; the ways out of each in the order of its
  // output ports; all queues.
  void add_operator(uint32_t index, double flop, uint32_t outputs, bool source, bool balances) {
    operators_[index].flop = flop;
    operators_[index].outputs = outputs;
    operators_[index].source = source;
    operators_[index].balances = balances;
    order_.push_back(index);
  }
  void add_way(uint32_t source, uint32_t target, uint32_t queue) {
    operators_[source].ways.push_back({target, queue});
  }
  void add_queue(uint32_t index, uint32_t op, size_t capacity, bool threaded) {
    queues_[index] = {op, capacity, threaded, {}};
  }

  // `called(q)`: whether it is wanted that the port of queue q is called; `tell_source(op, batch)`;
  // `tell_queue(q, OfQueue)`.
  template <class Called, class TellSource, class TellQueue>
  void refresh(Called called, TellSource tell_source, TellQueue tell_queue) {
    const auto is_called = [&](const Way& way) {
      return way.queue == NO_QUEUE || called(way.queue);
    };
    for (auto place = order_.rbegin(); place != order_.rend(); ++place) {
      const Operator& op = operators_[*place];
      double behind = 0.0;
      uint32_t room = most_;
      for (const Way& way : op.ways) {
        if (is_called(way)) {
          behind += cost_[way.target];
          room = std::min(room, room_[way.target]);
        } else if (op.outputs > 1 || op.ways.size() > 1) {
          // else one that waits for what goes another way may wait for what a full queue keeps in a
          // sender's hands
          room = static_cast<uint32_t>(std::min<double>(
              room, static_cast<double>(queues_[way.queue].capacity) * op.outputs));
        }
      }
      cost_[*place] = op.flop + (op.outputs > 0 ? behind / op.outputs : 0.0);
      room_[*place] = room;
      if (op.source) tell_source(*place, batch_for(cost_[*place], room));
    }
    for (Queue& queue : queues_) {
      const double region = std::max(cost_[queue.op], 1.0);
      queue.sizes.batch = batch_for(region, room_[queue.op]);
      queue.sizes.most = drain_for(queue.capacity, region);
      queue.sizes.wake_at = static_cast<uint32_t>(std::max<size_t>(1, queue.capacity / 4));
    }
    // A threaded port is woken the sooner the longer the region takes that sends to it, all of it:
    // from here on, of the region that an operator is called in.
    for (const uint32_t place : order_) {
      for (const Way& way : operators_[place].ways) {
        if (is_called(way)) {
          cost_[way.target] = std::max(cost_[way.target], cost_[place]);
        } else if (queues_[way.queue].threaded) {
          wake_sooner(queues_[way.queue], cost_[place]);
        }
      }
    }
    // A buffer gets a share of what its sender sends, and its thread is there to work while others
    // do: it is woken the sooner.
    for (uint32_t place = 0; place < operators_.size(); ++place) {
      const Operator& op = operators_[place];
      if (!op.balances) continue;
      for (const Way& way : op.ways) {
        Queue& buffer = queues_[way.queue];
        wake_sooner(buffer, std::max(cost_[place] * op.outputs, cost_[buffer.op]));
      }
    }
    for (uint32_t queue = 0; queue < queues_.size(); ++queue)
      tell_queue(queue, queues_[queue].sizes);
  }

 private:
  struct Way {
    uint32_t target, queue;
  };
  struct Operator {
    double flop = 0.0;
    uint32_t outputs = 0;
    bool source = false, balances = false;
    std::vector<Way> ways;
  };
  struct Queue {
    uint32_t op;
    size_t capacity;
    bool threaded;
    OfQueue sizes;
  };
  static void wake_sooner(Queue& queue, double flop) {
    const auto waiting = static_cast<uint32_t>(std::max(1.0, WAKE_FLOP / std::max(flop, 1.0)));
    queue.sizes.wake_at = std::min(queue.sizes.wake_at, waiting);
  }

  uint32_t most_;  // tuples of a batch, whatever follows
  std::vector<uint32_t> order_;
  std::vector<Operator> operators_;
  std::vector<Queue> queues_;
  std::vector<double> cost_;    // by operator: FLOP a tuple of what is called from it on
  std::vector<uint32_t> room_;  // and how many tuples may be handed to it at once
};

}  // namespace millrace
