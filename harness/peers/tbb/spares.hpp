// spares.hpp - memory of blocks, which are used again: first those that the same thread has given
// back, as its cache may still have them.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/task_arena.h>

#include <vector>

#include "run.hpp"

namespace peer {

// For the threads of one arena. Alone, a tuple has memory of its own each time.
class Spares {
 public:
  explicit Spares(const Plan& plan)
      : plan_(plan),
        of_threads_(static_cast<size_t>(oneapi::tbb::this_task_arena::max_concurrency())) {}
  ~Spares() {
    for (auto& of_thread : of_threads_) {
      for (Block* block : of_thread.blocks) Block::free(block);
    }
    for (Block* block; of_all_.try_pop(block);) Block::free(block);
  }

  Block* take() {
    if (plan_.batch == 1) return Block::make(1, plan_.payload);
    Block* block = nullptr;
    if (auto& mine = of_this_thread(); !mine.empty()) {
      block = mine.back();
      mine.pop_back();
    } else if (!of_all_.try_pop(block)) {
      return Block::make(plan_.batch, plan_.payload);
    }
    block->count = 0;
    block->left = false;
    return block;
  }

  void give_back(Block* block) {
    if (plan_.batch == 1) {
      Block::free(block);
    } else if (auto& mine = of_this_thread(); mine.size() < KEPT) {
      mine.push_back(block);
    } else {
      of_all_.push(block);
    }
  }

 private:
  static constexpr size_t KEPT = 4;  // the others are for all threads

  struct alignas(2 * millrace::CACHE_LINE) OfThread {
    std::vector<Block*> blocks;
  };

  std::vector<Block*>& of_this_thread() {
    return of_threads_[static_cast<size_t>(oneapi::tbb::this_task_arena::current_thread_index())]
        .blocks;
  }

  const Plan& plan_;
  std::vector<OfThread> of_threads_;
  oneapi::tbb::concurrent_queue<Block*> of_all_;
};

}  // namespace peer
