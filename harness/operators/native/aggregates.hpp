// aggregates.hpp - the aggregates that are ready: columns of a fold, each over an attribute of the
// tuples.
#pragma once

#include <cstdint>
#include <cstring>
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
            if (count == 0 || given < least) least = given;
          });
          break;
        case Does::GREATEST:
          numbers(column.is, own, value, [&](auto& most, auto given) {
            if (count == 0 || given > most) most = given;
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
                           hash_of(text(column, value)));
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
            if (given < least) least = given;
          });
          break;
        case Does::GREATEST:
          numbers(wide, own, other, [](auto& most, auto given) {
            if (given > most) most = given;
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
  static double plus(double a, double b) noexcept { return a + b; }
  static uint64_t plus(uint64_t a, uint64_t b) noexcept { return a + b; }
  static uint64_t plus(int64_t a, int64_t b) noexcept {
    return static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
  }  // may wrap
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

// Of tumbling windows by time, the keys that came most often, by SpaceSaving: rank, count, and how
// much too high it may be.
class TopKeys : public Operator {
 public:
  struct Places {
    uint32_t begin, end, rank, count, error, bytes;
  };
  TopKeys(std::vector<Key::Part> key, std::vector<uint32_t> to, uint32_t k, uint32_t capacity,
          uint32_t time_offset, int64_t window, const Places& places)
      : key_(std::move(key)),
        to_(std::move(to)),
        k_(k),
        time_offset_(time_offset),
        window_(window),
        places_(places),
        counters_(capacity) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    int64_t time;
    std::memcpy(&time, static_cast<const char*>(tuple) + time_offset_, sizeof time);
    if (time < -MOST_TIME || time > MOST_TIME) return OUT_OF_RANGE;
    const int64_t begin = floor_div(time, window_) * window_;
    if (open_ && begin < begin_) {
      ++late_;
      return 0;
    }
    if (open_ && begin > begin_) finish(context);
    begin_ = begin;
    open_ = true;
    counters_.add(key_.of(tuple), 1);
    return 0;
  }
  int32_t finish(millrace_context* context) override {
    uint64_t rank = 0;
    const int64_t end = begin_ + window_;
    for (const SpaceSaving::Counter& counter : counters_.top(k_)) {
      char* out = static_cast<char*>(millrace_room(context, 0));
      std::memset(out, 0, places_.bytes);
      key_.write(counters_.key(counter), out, to_);
      ++rank;
      std::memcpy(out + places_.begin, &begin_, 8);
      std::memcpy(out + places_.end, &end, 8);
      std::memcpy(out + places_.rank, &rank, 8);
      std::memcpy(out + places_.count, &counter.count, 8);
      std::memcpy(out + places_.error, &counter.error, 8);
      millrace_send(context, 0);
    }
    counters_.clear();
    open_ = false;
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return late_; }

 private:
  Key key_;
  std::vector<uint32_t> to_;
  uint32_t k_, time_offset_;
  int64_t window_;
  Places places_;
  SpaceSaving counters_;
  int64_t begin_ = 0;
  bool open_ = false;
  uint64_t late_ = 0;
};

// Tuples as they come, each with how often its key came until now in its tumbling window by time,
// by Count-Min.
class Frequencies : public Operator {
 public:
  Frequencies(std::vector<Key::Part> key, uint32_t bytes, uint32_t width, uint32_t depth,
              uint32_t time_offset, int64_t window)
      : key_(std::move(key)),
        bytes_(bytes),
        time_offset_(time_offset),
        window_(window),
        counts_(width, depth) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    int64_t time;
    std::memcpy(&time, static_cast<const char*>(tuple) + time_offset_, sizeof time);
    if (time < -MOST_TIME || time > MOST_TIME) return OUT_OF_RANGE;
    const int64_t index = floor_div(time, window_);
    if (index > index_) {  // one that comes late counts in the window that there is
      counts_.clear();
      index_ = index;
    }
    char* out = static_cast<char*>(millrace_room(context, 0));
    std::memcpy(out, tuple, bytes_);
    const uint64_t count = counts_.add(key_.of(tuple), 1);
    std::memcpy(out + bytes_, &count, sizeof count);
    millrace_send(context, 0);
    return 0;
  }

 private:
  Key key_;
  uint32_t bytes_, time_offset_;
  int64_t window_, index_ = INT64_MIN;
  CountMin counts_;
};

}  // namespace millrace::operators
