// uncharged.hpp - members of a platform of the path of a tuple (path.hpp) whose steps take the time
// that they take: nothing is charged for them.
#pragma once

#include <cstdint>

namespace millrace {

struct Uncharged {
  static void pass(auto*) noexcept {}
  static void executes(auto*, auto*, auto*, uint32_t) noexcept {}
  static void step(auto*, auto, uint32_t) noexcept {}
  static void drains(auto*, auto*) noexcept {}
  static void takes(auto*, auto*, uint32_t) noexcept {}
  static void passes_on(auto*, auto*, auto*, uint32_t) noexcept {}
  static void holds(auto*, auto*, uint32_t) noexcept {}
  static void has_merged(auto*, auto*) noexcept {}
  static void looks_at_merge(auto*, auto*) noexcept {}
  static void looks_at_queue(auto*, auto*) noexcept {}
  static void goes_to_sleep(auto*, auto&) noexcept {}
  static void tell_watching(auto*, const auto&) noexcept {}
  static void stream_ends(auto*, auto*) noexcept {}
  static void ends_batch(auto*) noexcept {}
  static void turns(auto*) noexcept {}

  static constexpr bool BEGINS_SEVERAL = true;
  // Several threads may produce.
  static bool has_flags(auto*, auto* port) noexcept { return port->shared; }
  static auto* call_lock(auto* port) noexcept { return port->call_lock; }
  static auto* lock_at_end(auto* op) noexcept { return op->lock; }
};

// A drain within a drain: the outer one is as slow as before.
template <class Worker>
class OuterDrain {
 public:
  explicit OuterDrain(Worker* worker) noexcept : worker_(worker), slow_(worker->slow) {}
  ~OuterDrain() { worker_->slow = slow_; }

 private:
  Worker* worker_;
  bool slow_;
};

}  // namespace millrace
