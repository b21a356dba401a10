// replay.hpp - a source of tuples in memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "operator.hpp"

namespace millrace::operators {

// Sends tuples in order, `cycles` times in all (0: for ever). Their times go on by `span` from one
// cycle to the next.
class Replay : public Operator {
 public:
  // Tuples of an output port: their size, and the places of their times [bytes].
  struct Port {
    size_t bytes;
    std::vector<size_t> times;
  };
  Replay(std::vector<Port> ports, uint64_t cycles, int64_t span)
      : ports_(std::move(ports)), cycles_(cycles), span_(span) {}
  void add(uint32_t port, const char* tuple) {
    order_.push_back(port);
    content_.insert(content_.end(), tuple, tuple + ports_[port].bytes);
  }
  int32_t step(millrace_context* context) override {
    if (next_ == order_.size()) {
      if (++cycle_ == cycles_ || order_.empty()) return MILLRACE_END;
      next_ = at_ = 0;
      shift_ = static_cast<int64_t>(cycle_) * span_;
    }
    const uint32_t port = order_[next_++];
    const Port& of = ports_[port];
    char* out = static_cast<char*>(millrace_room(context, port));
    std::memcpy(out, content_.data() + at_, of.bytes);
    for (const size_t place : of.times) {
      int64_t time;
      std::memcpy(&time, out + place, sizeof time);
      time += shift_;
      std::memcpy(out + place, &time, sizeof time);
    }
    at_ += of.bytes;
    ++sent_;
    millrace_send(context, port);
    return MILLRACE_MORE;
  }
  uint64_t counted(uint32_t) const noexcept override { return sent_; }

 private:
  std::vector<Port> ports_;
  uint64_t cycles_, cycle_ = 0, sent_ = 0;
  int64_t span_, shift_ = 0;
  std::vector<uint32_t> order_;
  std::vector<char> content_;
  size_t next_ = 0, at_ = 0;
};

}  // namespace millrace::operators
