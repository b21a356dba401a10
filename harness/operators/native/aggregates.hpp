// aggregates.hpp - the aggregates that are ready: columns of a fold, each over an attribute of the
// tuples.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "sketches.hpp"
#include "windows.hpp"

namespace millrace::operators {

enum class Does : uint32_t {
  COUNT,
  TOTAL,
  MEAN,
  LEAST,
  GREATEST,
  FIRST,
  LAST,
  DISTINCT,
  BEGIN,
  END
};
enum class Is : uint32_t {
  INT8,
  INT16,
  INT32,
  INT64,
  UINT8,
  UINT16,
  UINT32,
  UINT64,
  FLOAT32,
  FLOAT64,
  BYTES,
  STRING
};

struct Column {
  Does does;
  Is is;               // the type of the attribute
  uint32_t from;       // where it is in a tuple
  uint32_t bytes;      // that it takes there; of a string, with its length
  uint32_t to;         // where the result is in what is sent
  uint32_t precision;  // of DISTINCT
  uint32_t place;      // in the state
};

// Columns of attributes as a fold. A result: whole numbers as int64 or uint64, other numbers as
// float64, FIRST and LAST as they are.
class Columns {
 public:
  Columns(std::vector<Column> columns, uint32_t out_bytes)
      : columns_(std::move(columns)), out_bytes_(out_bytes) {
    for (Column& column : columns_) {
      column.place = bytes_;
      bytes_ += (room_of(column) + 7) / 8 * 8;
    }
  }
  size_t bytes() const noexcept { return bytes_; }
  int32_t add(void* state, const void* tuple, uint64_t count) const {
    for (const Column& column : columns_) {
      char* own = static_cast<char*>(state) + column.place;
      const char* value = static_cast<const char*>(tuple) + column.from;
      switch (column.does) {
        case Does::COUNT:
          at<uint64_t>(own) = count + 1;
          break;
        case Does::TOTAL:
          numbers(column.is, own, value, [](auto& sum, auto more) {
            sum = static_cast<std::remove_reference_t<decltype(sum)>>(plus(sum, more));
          });
          break;
        case Does::MEAN: {
          double number = 0.0;
          numbers(column.is, nullptr, value,
                  [&](auto&, auto given) { number = static_cast<double>(given); });
          at<double>(own) += number;
          at<uint64_t>(own + 8) = count + 1;
          break;
        }
        case Does::LEAST:
          numbers(column.is, own, value, [&](auto& least, auto given) {
            if (count == 0 || smaller(given, least)) least = given;
          });
          break;
        case Does::GREATEST:
          numbers(column.is, own, value, [&](auto& most, auto given) {
            if (count == 0 || larger(given, most)) most = given;
          });
          break;
        case Does::FIRST:
          if (count == 0) std::memcpy(own, value, column.bytes);
          break;
        case Does::LAST:
          std::memcpy(own, value, column.bytes);
          break;
        case Does::DISTINCT:
          hyperloglog::add(reinterpret_cast<uint8_t*>(own), column.precision,
                           hash_of_value(column, value));
          break;
        case Does::BEGIN:
        case Does::END:
          break;
      }
    }
    return 0;
  }
  int32_t combine(void* state, const void* later) const {
    for (const Column& column : columns_) {
      char* own = static_cast<char*>(state) + column.place;
      const char* other = static_cast<const char*>(later) + column.place;
      const Is wide = wide_of(column.is);
      switch (column.does) {
        case Does::COUNT:
          at<uint64_t>(own) += at<const uint64_t>(other);
          break;
        case Does::TOTAL:
          numbers(wide, own, other, [](auto& sum, auto more) {
            sum = static_cast<std::remove_reference_t<decltype(sum)>>(plus(sum, more));
          });
          break;
        case Does::MEAN:
          at<double>(own) += at<const double>(other),
              at<uint64_t>(own + 8) += at<const uint64_t>(other + 8);
          break;
        case Does::LEAST:
          numbers(wide, own, other, [](auto& least, auto given) {
            if (smaller(given, least)) least = given;
          });
          break;
        case Does::GREATEST:
          numbers(wide, own, other, [](auto& most, auto given) {
            if (larger(given, most)) most = given;
          });
          break;
        case Does::LAST:
          std::memcpy(own, other, column.bytes);
          break;
        case Does::DISTINCT:
          hyperloglog::merge(reinterpret_cast<uint8_t*>(own),
                             reinterpret_cast<const uint8_t*>(other), column.precision);
          break;
        case Does::FIRST:
        case Does::BEGIN:
        case Does::END:
          break;
      }
    }
    return 0;
  }
  int32_t result(const void* state, const millrace_window& window, void* out) const {
    std::memset(out, 0, out_bytes_);
    for (const Column& column : columns_) {
      const char* own = static_cast<const char*>(state) + column.place;
      char* to = static_cast<char*>(out) + column.to;
      switch (column.does) {
        case Does::MEAN:
          at<double>(to) = at<const double>(own) / static_cast<double>(at<const uint64_t>(own + 8));
          break;
        case Does::FIRST:
        case Does::LAST:
          std::memcpy(to, own, column.bytes);
          break;
        case Does::DISTINCT:
          at<uint64_t>(to) =
              hyperloglog::estimate(reinterpret_cast<const uint8_t*>(own), column.precision);
          break;
        case Does::BEGIN:
          at<int64_t>(to) = window.begin;
          break;
        case Does::END:
          at<int64_t>(to) = window.end;
          break;
        default:
          std::memcpy(to, own, 8);
      }
    }
    return 1;
  }

 private:
  template <class T>
  static T& at(char* place) noexcept {
    return *reinterpret_cast<T*>(place);
  }
  template <class T>
  static T& at(const char* place) noexcept {
    return *reinterpret_cast<T*>(place);
  }
  // As minimum and maximum of IEEE 754-2019: what is not a number stays, and -0.0 is below 0.0.
  template <class T>
  static bool smaller(T given, T least) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(least)) return false;
      return std::isnan(given) || given < least ||
             (given == least && std::signbit(given) && !std::signbit(least));
    }
    return given < least;
  }
  template <class T>
  static bool larger(T given, T most) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(most)) return false;
      return std::isnan(given) || given > most ||
             (given == most && std::signbit(most) && !std::signbit(given));
    }
    return given > most;
  }
  static double plus(double a, double b) noexcept { return a + b; }
  static uint64_t plus(uint64_t a, uint64_t b) noexcept { return a + b; }
  static uint64_t plus(int64_t a, int64_t b) noexcept {
    return static_cast<uint64_t>(a) + static_cast<uint64_t>(b);  // may wrap
  }
  static size_t room_of(const Column& column) noexcept {
    switch (column.does) {
      case Does::MEAN:
        return 16;
      case Does::FIRST:
      case Does::LAST:
        return column.bytes;
      case Does::DISTINCT:
        return size_t{1} << column.precision;
      case Does::BEGIN:
      case Does::END:
        return 0;
      default:
        return 8;
    }
  }
  static Is wide_of(Is is) noexcept {
    return is <= Is::INT64 ? Is::INT64 : is <= Is::UINT64 ? Is::UINT64 : Is::FLOAT64;
  }
  template <class T, class W, class F>
  static void number(char* own, const char* value, F&& f) {
    T given;
    std::memcpy(&given, value, sizeof given);
    W none{};
    f(own != nullptr ? at<W>(own) : none, static_cast<W>(given));
  }
  // f(what the state has, what the attribute has), both as wide as they come.
  template <class F>
  static void numbers(Is is, char* own, const char* value, F&& f) {
    switch (is) {
      case Is::INT8:
        return number<int8_t, int64_t>(own, value, f);
      case Is::INT16:
        return number<int16_t, int64_t>(own, value, f);
      case Is::INT32:
        return number<int32_t, int64_t>(own, value, f);
      case Is::INT64:
        return number<int64_t, int64_t>(own, value, f);
      case Is::UINT8:
        return number<uint8_t, uint64_t>(own, value, f);
      case Is::UINT16:
        return number<uint16_t, uint64_t>(own, value, f);
      case Is::UINT32:
        return number<uint32_t, uint64_t>(own, value, f);
      case Is::UINT64:
        return number<uint64_t, uint64_t>(own, value, f);
      case Is::FLOAT32:
        return number<float, double>(own, value, f);
      case Is::FLOAT64:
        return number<double, double>(own, value, f);
      case Is::BYTES:
      case Is::STRING:
        return;  // no aggregate of numbers is made of these
    }
  }
  static uint64_t hash_of_value(const Column& column, const char* value) noexcept {
    if (column.is == Is::FLOAT32) {
      const float real = canonical<float>(value);
      return hash_of({reinterpret_cast<const char*>(&real), sizeof real});
    }
    if (column.is == Is::FLOAT64) {
      const double real = canonical<double>(value);
      return hash_of({reinterpret_cast<const char*>(&real), sizeof real});
    }
    return hash_of(text(column, value));
  }
  static std::string_view text(const Column& column, const char* value) noexcept {
    if (column.is != Is::STRING) return {value, column.bytes};
    uint32_t length;
    std::memcpy(&length, value, sizeof length);
    return {value + sizeof length, std::min<size_t>(length, column.bytes - sizeof length)};
  }
  std::vector<Column> columns_;
  uint32_t out_bytes_;
  uint32_t bytes_ = 0;
};

// -- top-k and frequencies ------------------------------------------------------------------------

// Windows by time that have not ended, each with a T, the earliest first.
template <class T>
class OpenWindows {
 public:
  static constexpr size_t MOST = size_t{1} << 16;
  OpenWindows(int64_t window, int64_t step) : window_(window), step_(step) {}
  bool late(int64_t time) const noexcept {
    return floor_div(time, step_) * step_ + window_ <= passed_;
  }
  // f(state) of each window that a time is in and that has not ended; `made` is a state for a new
  // one. Below 0: an error.
  template <class F>
  int32_t each(int64_t time, const T& made, F&& f) {
    const int64_t last = floor_div(time, step_) * step_;
    const int64_t first = (floor_div(time - window_, step_) + 1) * step_;
    for (int64_t begin = std::max(first, next_); begin <= last; begin += step_) {
      if (open_.size() == MOST) return TOO_MANY;
      f(of(begin, made));
    }
    return 0;
  }
  // f(begin, state) of each window that has ended with that time has passed.
  template <class F>
  void advance(int64_t time, F&& f) {
    if (time <= passed_) return;
    passed_ = time;
    next_ = std::max(next_, (floor_div(time - window_, step_) + 1) * step_);
    for (; !open_.empty() && open_.front().begin <= time - window_; open_.pop_front()) {
      f(open_.front().begin, open_.front().state);
      spare_.push_back(std::move(open_.front().state));
    }
  }

 private:
  struct Open {
    int64_t begin;
    T state;
  };
  T& of(int64_t begin, const T& made) {
    auto at = open_.end();
    if (at != open_.begin() && (at - 1)->begin >= begin) {  // most come in order
      at = std::lower_bound(open_.begin(), open_.end(), begin,
                            [](const Open& open, int64_t other) { return open.begin < other; });
    }
    if (at != open_.end() && at->begin == begin) return at->state;
    if (spare_.empty()) return open_.insert(at, Open{begin, made})->state;
    T state = std::move(spare_.back());
    spare_.pop_back();
    state.clear();
    return open_.insert(at, Open{begin, std::move(state)})->state;
  }
  int64_t window_, step_;
  int64_t passed_ = INT64_MIN;
  int64_t next_ = EventTime::NEVER;  // no open window begins earlier
  std::deque<Open> open_;
  std::vector<T> spare_;
};

// Of windows by time, the keys that came most often, by SpaceSaving: rank, count, and how much too
// high it may be.
class TopKeys : public Timed {
 public:
  struct Places {
    uint32_t begin, end, rank, count, error, bytes;
  };
  TopKeys(std::vector<Key::Part> key, std::vector<uint32_t> to, uint32_t k, uint32_t capacity,
          uint32_t time_offset, uint32_t bytes, const EventTime::Rule& rule, int64_t window,
          int64_t step, const Places& places)
      : Timed({{time_offset, bytes, EventTime(rule)}}),
        key_(std::move(key)),
        to_(std::move(to)),
        k_(k),
        window_(window),
        places_(places),
        none_(capacity),
        windows_(window, step) {}

 protected:
  int32_t take(millrace_context* context, uint32_t port, const void* tuple, int64_t time) override {
    if (windows_.late(time)) {
      leave_out_late(context, port, tuple);
    } else {
      const std::string_view key = key_.of(tuple);
      const int32_t answer =
          windows_.each(time, none_, [&](SpaceSaving& counters) { counters.add(key, 1); });
      if (answer < 0) return answer;
    }
    clock(0).see(time);
    advance(context, clock(0).passed());
    return 0;
  }
  int32_t end(millrace_context* context) override {
    advance(context, INT64_MAX);
    return 0;
  }
  int32_t close(millrace_context* context) override {
    advance(context, clock(0).passed());
    return 0;
  }

 private:
  void advance(millrace_context* context, int64_t time) {
    windows_.advance(
        time, [&](int64_t begin, const SpaceSaving& counters) { send(context, begin, counters); });
  }
  void send(millrace_context* context, int64_t begin, const SpaceSaving& counters) {
    uint64_t rank = 0;
    const int64_t end = begin + window_;
    for (const SpaceSaving::Counter& counter : counters.top(k_)) {
      char* out = static_cast<char*>(millrace_room(context, 0));
      std::memset(out, 0, places_.bytes);
      key_.write(counters.key(counter), out, to_);
      ++rank;
      std::memcpy(out + places_.begin, &begin, 8);
      std::memcpy(out + places_.end, &end, 8);
      std::memcpy(out + places_.rank, &rank, 8);
      std::memcpy(out + places_.count, &counter.count, 8);
      std::memcpy(out + places_.error, &counter.error, 8);
      millrace_send(context, 0);
    }
  }
  Key key_;
  std::vector<uint32_t> to_;
  uint32_t k_;
  int64_t window_;
  Places places_;
  SpaceSaving none_;
  OpenWindows<SpaceSaving> windows_;
};

// Tuples as they come, each with how often its key came until now in its tumbling window by time,
// by Count-Min.
class Frequencies : public Timed {
 public:
  Frequencies(std::vector<Key::Part> key, uint32_t bytes, uint32_t width, uint32_t depth,
              uint32_t time_offset, const EventTime::Rule& rule, int64_t window)
      : Timed({{time_offset, bytes, EventTime(rule)}}),
        key_(std::move(key)),
        bytes_(bytes),
        none_(width, depth),
        windows_(window, window) {}

 protected:
  int32_t take(millrace_context* context, uint32_t port, const void* tuple, int64_t time) override {
    if (windows_.late(time)) {
      leave_out_late(context, port, tuple);
    } else {
      uint64_t count = 0;
      const int32_t answer = windows_.each(
          time, none_, [&](CountMin& counts) { count = counts.add(key_.of(tuple), 1); });
      if (answer < 0) return answer;
      char* out = static_cast<char*>(millrace_room(context, 0));
      std::memcpy(out, tuple, bytes_);
      std::memcpy(out + bytes_, &count, sizeof count);
      millrace_send(context, 0);
    }
    clock(0).see(time);
    windows_.advance(clock(0).passed(), [](int64_t, const CountMin&) {});
    return 0;
  }
  int32_t end(millrace_context*) override { return 0; }
  int32_t close(millrace_context*) override { return 0; }

 private:
  Key key_;
  uint32_t bytes_;
  CountMin none_;
  OpenWindows<CountMin> windows_;
};

}  // namespace millrace::operators
