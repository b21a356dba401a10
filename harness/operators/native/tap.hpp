// tap.hpp - a sink that also gives what arrives to Python, many tuples at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "operator.hpp"

namespace millrace::operators {

// The function of a sink, before which tuples are gathered. A thread that has BYTES of them
// delivers them; so does a call of `flush` from outside.
class Tap : public Operator {
 public:
  static constexpr size_t BYTES = size_t{1} << 18;
  using Process = int32_t (*)(millrace_context*, uint32_t, const void*, void*);
  // Takes `size` bytes of whole tuples of an input port. Below 0: an error. It may need the
  // interpreter's lock; a thread that has that lock must not wait for a tap.
  using Deliver = int32_t (*)(void* to, uint32_t port, const char* tuples, size_t size);
  // `results`: the same sink if it is one of ours, which may give a tuple another form; or null.
  // `bytes`: of a tuple in that form, by input port.
  Tap(Process process, void* state, const Operator* results, std::vector<size_t> bytes,
      Deliver deliver, void* to)
      : process_(process),
        state_(state),
        results_(results),
        bytes_(std::move(bytes)),
        gathered_(bytes_.size()),
        deliver_(deliver),
        to_(to) {}
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    {
      const std::lock_guard<std::mutex> turn(turn_);
      std::vector<char>& gathered = gathered_[port];
      const size_t before = gathered.size();
      gathered.resize(before + bytes_[port]);
      if (results_ != nullptr) {
        results_->result(tuple, gathered.data() + before, bytes_[port]);
      } else {
        std::memcpy(gathered.data() + before, tuple, bytes_[port]);
      }
      if (gathered.size() >= BYTES) {
        const int32_t answer = deliver(port);
        if (answer < 0) return answer;
      }
    }
    return process_(context, port, tuple, state_);
  }
  // Delivers what has been gathered.
  int32_t flush() {
    const std::lock_guard<std::mutex> turn(turn_);
    int32_t answer = 0;
    for (uint32_t port = 0; port < gathered_.size() && answer >= 0; ++port) answer = deliver(port);
    return answer;
  }

 private:
  int32_t deliver(uint32_t port) {
    std::vector<char>& gathered = gathered_[port];
    if (gathered.empty()) return 0;
    const int32_t answer = deliver_(to_, port, gathered.data(), gathered.size());
    gathered.clear();
    return answer;
  }
  Process process_;
  void* state_;
  const Operator* results_;
  std::vector<size_t> bytes_;
  std::vector<std::vector<char>> gathered_;  // by input port
  Deliver deliver_;
  void* to_;
  std::mutex turn_;
};

}  // namespace millrace::operators
