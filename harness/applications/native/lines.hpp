// lines.hpp - the lines of a text in memory, as a source whose records have times.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "operator.hpp"

namespace millrace::applications {

using namespace operators;

inline constexpr int64_t SECOND = 1'000'000'000;  // ns
inline constexpr int64_t DAY = 86400 * SECOND;
inline constexpr int64_t YEAR =
    366 * DAY;  // of leap years, as all are in which times without a year are counted
inline constexpr int64_t NO_YEAR_BEGINS = 730 * DAY;  // 1972, of which times without a year are

inline constexpr size_t MOST_LINE = 65'536;  // bytes; a longer line is broken

// Lines to its output ports in turn, as tuples T of `number`, `shift` and `text`. Begins again at
// the end of the text, `cycles` times in all (0: for ever), with times shifted by the span of the
// text. `TIME(line, &ns, &dated)` reads the time of a line, and tells whether it can be read, and
// whether it has a year. One without a year is of the year that brings it closest to the line
// before; a line that is more than a day from there while the next one is not does not count.
template <class T, bool (*TIME)(std::string_view, int64_t*, bool*) noexcept>
class TimedLines : public Operator {
 public:
  TimedLines(const char* text, size_t size, uint32_t outputs, uint64_t cycles)
      : text_(text), end_(text + size), outputs_(outputs), cycles_(cycles) {
    static constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF";
    if (std::string_view(text, size).substr(0, 3) == BYTE_ORDER_MARK) text_ += 3;
    at_ = text_;
    int64_t first = 0, last = 0, time = 0, before = INT64_MIN / 4, years = 0;
    bool any = false, dated = true;
    for (const char* at = text_; at < end_;) {
      const char* begin = at;
      const std::string_view each = next(&at);
      if (each.size() <= MOST_LINE && TIME(each, &time, &dated)) {
        if (!dated) {
          const int64_t year = year_of(time, before);
          if (year != years) turns_.push_back({begin, years = year});
          time += years;
          if (before < 0 || near(time, before) || !returns(at, before)) before = time;
        }
        if (!any) first = last = time;
        any = true;
        first = time < first ? time : first;
        last = time > last ? time : last;
        ++whole_;
      }
      ++lines_;
    }
    span_ = last - first + SECOND;
  }
  int32_t step(millrace_context* context) override {
    if (at_ == end_) {
      if (++cycle_ == cycles_ || text_ == end_) return MILLRACE_END;
      at_ = text_;
      shift_ = begun_ += span_;
      turn_ = 0;
    }
    if (turn_ < turns_.size() && turns_[turn_].at == at_) shift_ = begun_ + turns_[turn_++].years;
    const char* begin = at_;
    std::string_view text = next(&at_);
    if constexpr (requires { T::repeats(text); }) {
      if (const uint64_t times = T::repeats(text); times > 0) again(begin, times, &text);
    }
    T& line = room<T>(context, output_);
    if (text.size() > MOST_LINE) {
      ++too_long_;
      return MILLRACE_MORE;
    }
    line.number = number_++;
    line.shift = shift_;
    line.text.set(text, text.data());
    if constexpr (requires { line.at; }) line.at = text.data();
    millrace_send(context, output_);
    output_ = output_ + 1 < outputs_ ? output_ + 1 : 0;
    return MILLRACE_MORE;
  }
  // lines sent, lines that are too long, lines of the text, those of them that can be read
  uint64_t counted(uint32_t which) const noexcept override {
    return std::array<uint64_t, 4>{number_, too_long_, lines_, whole_}[which];
  }

 private:
  // A line that stands for one before it, so many times: that one in its place, and as often.
  void again(const char* line, uint64_t times, std::string_view* text) noexcept {
    std::string_view other;
    for (const char* begin = line; begin > text_ && (other.empty() || T::repeats(other) > 0);) {
      const char* end = begin - 1;  // the line break
      for (begin = end; begin > text_ && begin[-1] != '\n';) --begin;
      if (end > begin && end[-1] == '\r') --end;
      other = {begin, static_cast<size_t>(end - begin)};
    }
    if (T::repeats(other) > 0 || !T::of_one_host(*text, other)) return;
    *text = other;
    if (++again_ < times) {
      at_ = line;
    } else {
      again_ = 0;
    }
  }
  // The years [ns] to add to a time of the first year, so that it is closest to `before`.
  static int64_t year_of(int64_t time, int64_t before) noexcept {
    if (before < 0) return 0;
    int64_t years = (before - NO_YEAR_BEGINS) / YEAR * YEAR;
    while (years > 0 && time + years - before > YEAR / 2) years -= YEAR;
    while (before - time - years > YEAR / 2) years += YEAR;
    return years;
  }
  static bool near(int64_t one, int64_t other) noexcept {
    return one - other < DAY && other - one < DAY;
  }
  // The next line from `at` on that can be read is near `before`.
  bool returns(const char* at, int64_t before) const noexcept {
    int64_t time = 0;
    bool dated = true;
    while (at < end_) {
      const std::string_view each = next(&at);
      if (each.size() > MOST_LINE || !TIME(each, &time, &dated)) continue;
      return !dated && near(time + year_of(time, before), before);
    }
    return false;
  }
  std::string_view next(const char** at) const noexcept {
    const char* begin = *at;
    const char* newline =
        static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end_ - begin)));
    const char* stop = newline != nullptr ? newline : end_;
    *at = newline != nullptr ? newline + 1 : end_;
    if (stop > begin && stop[-1] == '\r') --stop;
    return {begin, static_cast<size_t>(stop - begin)};
  }
  const char* text_;
  const char* end_;
  const char* at_;
  uint32_t outputs_, output_ = 0;
  uint64_t cycles_, cycle_ = 0, number_ = 0, again_ = 0, too_long_ = 0, lines_ = 0, whole_ = 0;
  int64_t begun_ = 0, shift_ = 0,
          span_ = 0;  // shift of this cycle and of this line; of a cycle [ns]
  struct Turn {
    const char* at;
    int64_t years;  // [ns], from here on
  };
  std::vector<Turn> turns_;
  size_t turn_ = 0;
};

}  // namespace millrace::applications
