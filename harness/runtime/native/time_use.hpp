// time_use.hpp - how often a sampling thread has found each thread at each activity
// (native/activity.hpp).
//
// One thread counts, any other reads. Both hold the lock, which no other thread takes.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "state.hpp"

namespace millrace {

class TimeUse {
 public:
  struct Entry {
    uint32_t thread, word;
    uint64_t looks;
  };

  void look(const Run& run) {
    const std::lock_guard lock(mutex_);
    ++looks_;
    if (found_.size() < run.worker_count) found_.resize(run.worker_count);
    for (uint32_t i = 0; i < run.worker_count; ++i) {
      const Worker& worker = run.workers[i];
      if (worker.thread.id() != 0) ++found_[i][doing_of(worker)];
    }
  }
  // Returns how often it was looked, and appends what was found.
  uint64_t read(std::vector<Entry>* entries) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < found_.size(); ++i) {
      for (const auto& [word, looks] : found_[i]) entries->push_back({i, word, looks});
    }
    return looks_;
  }

 private:
  std::mutex mutex_;
  uint64_t looks_ = 0;
  std::vector<std::unordered_map<uint32_t, uint64_t>> found_;  // by thread
};

}  // namespace millrace
