// contexts.hpp - which input ports are fed from one context alone, as queues come and go.
//
// A *context* executes one thing at a time: the thread of a source, the holder of a queued port's
// consumer flag, or the holder of the lock of an operator that several contexts call (analysis.py).
// While all senders to a called port are in one context, no other thread can be in it, so it needs
// no lock. Which ports these are changes with each queue; both engines call change() for that.
//
// A change is followed from the queue's operator as far as contexts change, operators in
// topological order. Whether all streams into an operator, or into a port, come from one context is
// a number: how many of them come from another one than the stream before. So a stream that changes
// costs two looks, however many there are beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace {

class Contexts {
 public:
  static constexpr uint32_t NO_QUEUE = UINT32_MAX;

  Contexts(uint32_t operators, uint32_t queues) : operators_(operators), queues_(queues) {}

  // To build it: operators in topological order, each stream with the queue of the port that it
  // leads to, the queues that are on. Then settle().
  void add_operator(uint32_t index) {
    operators_[index].rank = static_cast<uint32_t>(order_.size());
    order_.push_back(index);
  }
  void add_stream(uint32_t source, uint32_t target, uint32_t queue) {
    streams_.push_back({source, target, queue});
  }
  void begin_on(uint32_t queue) { queues_[queue].on = true; }

  void settle() {
    for (uint32_t stream = 0; stream < streams_.size(); ++stream) {
      Stream& s = streams_[stream];
      operators_[s.source].leaving.push_back(stream);
      append(operators_[s.target].arriving, stream, s.of_operator);
      if (s.queue != NO_QUEUE) append(queues_[s.queue].feeding, stream, s.of_queue);
    }
    for (const uint32_t index : order_) {
      Operator& op = operators_[index];
      for (const uint32_t stream : op.leaving) enter(stream, op.context = context_of(index));
    }
    waiting_.clear();
    waiting_.reserve(operators_.size());  // a change allocates nothing
    told_.reserve(queues_.size());
    for (Operator& op : operators_) op.waits = false;
    for (Queue& queue : queues_) queue.touched = false;
    told_.clear();
  }

  // Whether the port of the queue is fed from one context.
  bool sole(uint32_t queue) const noexcept { return queues_[queue].feeding.differing == 0; }

  // Queue `queue` is on from now on, or off. `tell(q, sole)`: of all queues for whose ports that
  // may have changed, once each, in the end.
  template <class Tell>
  void change(uint32_t queue, bool on, Tell tell) {
    if (queues_[queue].on == on) return;
    queues_[queue].on = on;
    for (const uint32_t stream : queues_[queue].feeding.streams)
      enter(stream, streams_[stream].fed);
    while (!waiting_.empty()) {
      std::pop_heap(waiting_.begin(), waiting_.end(), std::greater<>());
      const uint32_t index = order_[waiting_.back()];
      waiting_.pop_back();
      Operator& op = operators_[index];
      op.waits = false;
      const uint32_t context = context_of(index);
      ++looks_;
      if (context == op.context) continue;
      op.context = context;
      for (const uint32_t stream : op.leaving) enter(stream, context);
      looks_ += op.leaving.size();
    }
    for (const uint32_t touched : told_) {
      queues_[touched].touched = false;
      tell(touched, sole(touched));
    }
    told_.clear();
  }

  uint64_t looks() const noexcept { return looks_; }  // at operators and streams, by all changes

  std::mutex changing;  // held by a thread that changes contexts, which waits for nothing meanwhile

 private:
  static constexpr uint32_t NONE = UINT32_MAX;

  struct Stream {
    uint32_t source, target, queue;
    uint32_t fed = NONE;                     // the context that sends
    uint32_t entered = NONE;                 // the context that executes the operator at the target
    uint32_t of_operator = 0, of_queue = 0;  // its place among those that arrive there
  };
  struct Streams {
    std::vector<uint32_t> streams;
    uint32_t differing = 0;  // those that come from another context than the one before
  };
  struct Operator {
    Streams arriving;  // by the context that is entered
    std::vector<uint32_t> leaving;
    uint32_t rank = 0;
    uint32_t context = 0;  // a source, a queue, or a lock
    bool waits = false;    // for a look, since what arrives has changed
  };
  struct Queue {
    Streams feeding;  // by the context that sends
    bool on = false, touched = false;
  };

  static void append(Streams& all, uint32_t stream, uint32_t& place) {
    place = static_cast<uint32_t>(all.streams.size());
    all.streams.push_back(stream);
  }
  uint32_t queue_context(uint32_t queue) const noexcept {
    return static_cast<uint32_t>(operators_.size()) + queue;
  }
  uint32_t context_of(uint32_t index) const noexcept {
    const Streams& arriving = operators_[index].arriving;
    if (arriving.streams.empty()) return index;
    if (arriving.differing > 0)
      return static_cast<uint32_t>(operators_.size() + queues_.size()) + index;
    return streams_[arriving.streams[0]].entered;
  }
  // A stream of `all`, at `place`, is about to come from context `now` instead of `then`.
  template <class ContextOf>
  static void recount(Streams& all, uint32_t place, uint32_t then, uint32_t now,
                      ContextOf context_of) noexcept {
    const auto beside = [&](size_t other) {
      const uint32_t context = context_of(all.streams[other]);
      all.differing += (context != now) - (context != then);
    };
    if (place > 0) beside(place - 1);
    if (place + 1 < all.streams.size()) beside(place + 1);
  }
  // The stream is sent from `context`.
  void enter(uint32_t stream, uint32_t context) noexcept {
    Stream& s = streams_[stream];
    uint32_t entered = context;
    if (s.queue != NO_QUEUE) {
      Queue& queue = queues_[s.queue];
      if (s.fed != context) {
        recount(queue.feeding, s.of_queue, s.fed, context,
                [this](uint32_t other) { return streams_[other].fed; });
        if (!std::exchange(queue.touched, true)) told_.push_back(s.queue);
      }
      if (queue.on) entered = queue_context(s.queue);
    }
    s.fed = context;
    if (s.entered == entered) return;
    Operator& op = operators_[s.target];
    recount(op.arriving, s.of_operator, s.entered, entered,
            [this](uint32_t other) { return streams_[other].entered; });
    s.entered = entered;
    if (std::exchange(op.waits, true)) return;
    waiting_.push_back(op.rank);
    std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  }

  std::vector<Operator> operators_;
  std::vector<Queue> queues_;
  std::vector<Stream> streams_;
  std::vector<uint32_t> order_;    // operators by rank
  std::vector<uint32_t> waiting_;  // ranks of operators to look at, a heap
  std::vector<uint32_t> told_;     // queues whose feeding streams have changed
  uint64_t looks_ = 0;
};

}  // namespace millrace
