// pieces.hpp - an input that comes in pieces, from a thread that reads it to the source that takes
// it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::operators {

// BOUND: MOST pieces wait; then the reader does.
class Pieces {
 public:
  static constexpr size_t MOST = 4;
  // Adds a piece; false: there was no room for `seconds`, try again.
  bool put(std::string_view piece, double seconds) {
    std::unique_lock<std::mutex> turn(turn_);
    const auto has_room = [this] { return waiting_.size() < MOST; };
    if (!room_.wait_for(turn, std::chrono::duration<double>(seconds), has_room)) return false;
    waiting_.emplace_back(piece);
    return true;
  }
  // There are no more.
  void end() {
    const std::lock_guard<std::mutex> turn(turn_);
    ended_ = true;
  }
  enum class Next { PIECE, NONE_NOW, ENDED };
  // Takes the next piece, to the end of `content`. Never waits.
  Next take(std::string* content) {
    std::string piece;
    {
      const std::lock_guard<std::mutex> turn(turn_);
      if (waiting_.empty()) return ended_ ? Next::ENDED : Next::NONE_NOW;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    room_.notify_one();
    if (content->empty()) {
      *content = std::move(piece);
    } else {
      content->append(piece);
    }
    return Next::PIECE;
  }

 private:
  std::mutex turn_;
  std::condition_variable room_;
  std::deque<std::string> waiting_;
  bool ended_ = false;
};

// Input in memory for as long as tuples may point to it: until so many records have been sent after
// its last one.
class Retained {
 public:
  void keep(std::string content, uint64_t last) { held_.push_back({std::move(content), last}); }
  void forget(uint64_t sent) {
    while (!held_.empty() && held_.front().last + records_ < sent) held_.pop_front();
  }
  // More than the queues between the source and the last operator that looks into its input hold.
  void set_records(uint64_t records) noexcept { records_ = records; }

 private:
  struct Held {
    std::string content;
    uint64_t last;
  };
  std::deque<Held> held_;
  uint64_t records_ = uint64_t{1} << 20;
};

}  // namespace millrace::operators
