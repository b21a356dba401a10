// event_time.hpp - how far the time of a stream has come, by the times of its tuples.
//
// Time is the greatest time of a tuple so far, less the lateness: a low watermark (Akidau et al.,
// MillWheel, VLDB 6(11), 2013; The dataflow model, VLDB 8(12), 2015). A wrong clock must not move
// it. So a time that is further ahead than `jump` is taken for a spike, until it has lasted: NTP
// treats the steps of a clock so (Mills et al., RFC 5905 s11.3). It has lasted when WITNESSES
// tuples in a row are ahead; then time goes to the least of theirs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "operator.hpp"

namespace millrace::operators {

// [ns], before and after 1970: differences do not overflow
inline constexpr int64_t MOST_TIME = 4'400'000'000'000'000'000;

inline bool is_time(int64_t time) noexcept { return time >= -MOST_TIME && time <= MOST_TIME; }

class EventTime {
 public:
  static constexpr uint32_t WITNESSES = 5;  // a guess, not tuned
  // Before all times, even less a lateness; the two longest windows before it do not overflow.
  static constexpr int64_t NEVER = -6'000'000'000'000'000'000;
  struct Rule {
    int64_t lateness, jump;  // [ns]
  };
  explicit EventTime(const Rule& rule) noexcept : rule_(rule) {}
  // Time begins: the first of the stream's times must be no spike either, so it is the least of
  // several.
  void begin(int64_t time) noexcept { reach(time); }
  // The next tuple of the stream has this time.
  void see(int64_t time) noexcept {
    rested_ = 0;
    if (time > limit_) {
      spike(time);
      return;
    }
    if (run_ > 0) end_run();
    if (time > reached_) reach(time);
  }
  // The same, of a stream whose first tuples are not held (Beginning): until WITNESSES have come,
  // time has not begun.
  void watch(int64_t time) noexcept {
    if (watched_ == WITNESSES) {
      see(time);
      return;
    }
    last_[watched_++] = time;
    if (watched_ < WITNESSES) return;
    const std::array<int64_t, WITNESSES> first = last_;
    begin(*std::min_element(first.begin(), first.end()));
    for (const int64_t each : first) see(each);
  }
  // No tuple has come for so long [ns]: time goes on as a clock does, from where tuples brought it.
  void rest(int64_t idle) noexcept {
    if (reached_ == NEVER || idle <= rested_ || reached_ > MOST_TIME) return;
    reach(reached_ + std::min(idle - rested_, MOST_REST));
    rested_ = idle;
  }
  // No tuple is waited for that is earlier.
  int64_t passed() const noexcept { return reached_ - rule_.lateness; }
  int64_t reached() const noexcept { return reached_; }
  // Tuples whose times were ahead of what came before and behind them.
  uint64_t ahead() const noexcept { return ahead_ + (run_ < WITNESSES ? run_ : 0); }

 private:
  void reach(int64_t time) noexcept {
    reached_ = time;
    limit_ = time + rule_.jump;
  }
  void spike(int64_t time) noexcept {
    last_[place_++ % WITNESSES] = time;
    run_ = std::min(run_ + 1, WITNESSES);
    if (run_ == WITNESSES) reach(*std::min_element(last_.begin(), last_.end()));
  }
  void end_run() noexcept {
    ahead_ = ahead();
    run_ = 0;
  }
  static constexpr int64_t MOST_REST = int64_t{1} << 60;  // [ns]
  Rule rule_;
  int64_t rested_ = 0;  // for how long it has gone on without tuples
  int64_t reached_ = NEVER;
  int64_t limit_ = NEVER;  // what is later is ahead
  uint32_t run_ = 0;       // tuples in a row that are ahead, WITNESSES at most
  uint32_t place_ = 0, watched_ = 0;
  std::array<int64_t, WITNESSES> last_{};  // their times, the last ones
  uint64_t ahead_ = 0;
};

// The first tuples of a stream, until it is clear where its time begins: at the least time of
// WITNESSES of them. Then they are taken in their order.
class Beginning {
 public:
  // take(tuple, time) of each that is to be taken now. Below 0: an error.
  template <class Take>
  int32_t take(EventTime* clock, const void* tuple, size_t bytes, int64_t time, Take&& take) {
    if (over_) return take(tuple, time);
    const char* content = static_cast<const char*>(tuple);
    held_.insert(held_.end(), content, content + bytes);
    times_.push_back(time);
    return times_.size() < EventTime::WITNESSES ? 0 : end(clock, bytes, take);
  }
  bool empty() const noexcept { return times_.empty(); }
  // The stream has ended, or its first tuples are to wait no longer.
  template <class Take>
  int32_t end(EventTime* clock, size_t bytes, Take&& take) {
    over_ = true;
    if (times_.empty()) return 0;
    clock->begin(*std::min_element(times_.begin(), times_.end()));
    int32_t answer = 0;
    for (size_t i = 0; i < times_.size() && answer >= 0; ++i)
      answer = take(held_.data() + i * bytes, times_[i]);
    times_ = {};
    held_ = {};
    return answer;
  }

 private:
  bool over_ = false;
  std::vector<char> held_;
  std::vector<int64_t> times_;
};

// A live stream has had no tuple for so long [ns]. It comes by a port of its own.
struct Idle {
  int64_t ns;
};

// An operator on streams whose tuples have times. Behind their ports it may have one for ticks.
class Timed : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) final {
    if (port == streams_.size()) return tick(context, *static_cast<const Idle*>(tuple));
    if (port > streams_.size()) return WRONG_PORT;
    Stream& stream = streams_[port];
    ++taken_;
    int64_t time;
    std::memcpy(&time, static_cast<const char*>(tuple) + stream.time_offset, sizeof time);
    if (!is_time(time)) {
      left_out_.add(Left::WITHOUT_TIME, taken_ - 1, content_of(port, tuple));
      return 0;
    }
    return stream.beginning.take(
        &stream.clock, tuple, stream.bytes, time,
        [&](const void* each, int64_t at) { return take(context, port, each, at); });
  }
  int32_t finish(millrace_context* context) final {
    const int32_t answer = begin(context, false);
    return answer < 0 ? answer : end(context);
  }
  uint64_t left_out(Left which) const noexcept override {
    if (which != Left::AHEAD) return left_out_[which];
    uint64_t ahead = 0;
    for (const Stream& stream : streams_) ahead += stream.clock.ahead();
    return ahead;
  }
  // A tuple of input port 0: those of others may have another schema.
  const Example* example(Left which) const noexcept override { return left_out_.example(which); }
  void send_late(uint32_t first_output) noexcept override { late_output_ = first_output; }

 protected:
  struct Stream {
    uint32_t time_offset, bytes;  // in a tuple; of a tuple
    EventTime clock;
    Beginning beginning = {};
  };
  explicit Timed(std::vector<Stream> streams) : streams_(std::move(streams)) {}
  // A tuple, in the order of its stream. Below 0: an error.
  virtual int32_t take(millrace_context* context, uint32_t port, const void* tuple,
                       int64_t time) = 0;
  virtual int32_t end(millrace_context* context) = 0;
  // Closes the windows that have ended, since time has gone on without a tuple.
  virtual int32_t close(millrace_context* context) = 0;
  EventTime& clock(uint32_t port) noexcept { return streams_[port].clock; }
  // Counts a late tuple, or sends it to the output of late ones if there is one.
  void leave_out_late(millrace_context* context, uint32_t port, const void* tuple) {
    if (late_output_ == NO_OUTPUT) {
      left_out_.add(Left::LATE, taken_ - 1, content_of(port, tuple));
      return;
    }
    const uint32_t output = late_output_ + port;
    std::memcpy(millrace_room(context, output), tuple, streams_[port].bytes);
    millrace_send(context, output);
  }

 private:
  static constexpr uint32_t NO_OUTPUT = UINT32_MAX;
  std::string_view content_of(uint32_t port, const void* tuple) const noexcept {
    return {static_cast<const char*>(tuple), port == 0 ? streams_[port].bytes : 0};
  }
  // Takes the first tuples of all streams. `goes_on`: others begin later.
  int32_t begin(millrace_context* context, bool goes_on) {
    for (uint32_t port = 0; port < streams_.size(); ++port) {
      Stream& stream = streams_[port];
      if (goes_on && stream.beginning.empty()) continue;
      const int32_t answer = stream.beginning.end(
          &stream.clock, stream.bytes,
          [&](const void* each, int64_t at) { return take(context, port, each, at); });
      if (answer < 0) return answer;
    }
    return 0;
  }
  int32_t tick(millrace_context* context, const Idle& now) {
    const int32_t answer = begin(context, true);
    if (answer < 0) return answer;
    for (Stream& stream : streams_) stream.clock.rest(now.ns);
    return close(context);
  }
  std::vector<Stream> streams_;
  LeftOut left_out_;
  uint64_t taken_ = 0;
  uint32_t late_output_ = NO_OUTPUT;
};

}  // namespace millrace::operators
