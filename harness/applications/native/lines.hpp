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
inline constexpr int64_t YEAR =
    366 * 86400 * SECOND;  // of leap years, as all are in which times without a year are counted

// Lines to its output ports in turn, as tuples T of `number`, `shift` and `text`. Begins again at
// the end of the text, `cycles` times in all (0: for ever), with times shifted by the span of the
// text. `TIME(line, &ns, &dated)` reads the time of a line, and tells whether it can be read, and
// whether it has a year. Where times without a year go back by more than half of one, the next year
// begins.
template <class T, bool (*TIME)(std::string_view, int64_t*, bool*) noexcept>
class TimedLines : public Operator {
 public:
  TimedLines(const char* text, size_t size, uint32_t outputs, uint64_t cycles)
      : text_(text), end_(text + size), at_(text), outputs_(outputs), cycles_(cycles) {
    int64_t first = 0, last = 0, time = 0, before = INT64_MIN / 4, years = 0;
    bool any = false, dated = true;
    for (const char* at = text; at < end_;) {
      const char* begin = at;
      const std::string_view each = next(&at);
      if (each.size() <= sizeof(T::text.text) && TIME(each, &time, &dated)) {
        if (!dated) {
          const bool back = before - time > YEAR / 2;
          const bool forth = years > 0 && time - before > YEAR / 2;  // late lines of the last year
          if (back || forth) turns_.push_back({begin, years += back ? YEAR : -YEAR});
          before = time;
        }
        time += years;
        if (!any) first = last = time;
        any = true;
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
    const std::string_view text = next(&at_);
    T& line = room<T>(context, output_);
    if (!line.text.fits(text)) {
      ++too_long_;
      return MILLRACE_MORE;
    }
    line.number = number_++;
    line.shift = shift_;
    line.text.set(text);
    millrace_send(context, output_);
    output_ = output_ + 1 < outputs_ ? output_ + 1 : 0;
    return MILLRACE_MORE;
  }
  // lines sent, lines that are too long, lines of the text, those of them that can be read
  uint64_t counted(uint32_t which) const noexcept override {
    return std::array<uint64_t, 4>{number_, too_long_, lines_, whole_}[which];
  }

 private:
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
  uint64_t cycles_, cycle_ = 0, number_ = 0, too_long_ = 0, lines_ = 0, whole_ = 0;
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
