// lines.hpp - the lines of a text in memory, as a source whose records have times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "operator.hpp"

namespace millrace::applications {

using namespace operators;

inline constexpr int64_t SECOND = 1'000'000'000;  // ns
inline constexpr int64_t DAY = 86400 * SECOND;
// of leap years, as all are in which times without a year are counted
inline constexpr int64_t YEAR = 366 * DAY;
inline constexpr int64_t NO_YEAR_BEGINS = 730 * DAY;  // 1972, of which times without a year are

inline constexpr size_t MOST_LINE = 65'536;  // bytes; a longer line is broken

// Lines to its output ports in turn, as tuples T of `number`, `shift` and `text`. Of a text in
// memory it begins again at the end, `cycles` times in all (0: for ever), with times shifted by the
// span of the text. Of an input that comes in pieces it keeps what tuples may point to (Retained).
// `TIME(line, &ns, &dated)` reads the time of a line, and tells whether it can be read, and whether
// it has a year. One without a year is of the year that brings it closest to the line before; a
// line that is more than a day from there while the next one is not does not count. Of the last
// line of a piece no next one is known.
template <class T, bool (*TIME)(std::string_view, int64_t*, bool*) noexcept>
class TimedLines : public LeavesOut {
 public:
  TimedLines(const char* text, size_t size, uint32_t outputs, uint64_t cycles)
      : outputs_(outputs), cycles_(cycles), in_pieces_(false) {
    begin(text, text + size);
    scan();
    span_ = last_ - first_ + SECOND;
    turn_ = 0;
  }
  // An input that comes in pieces.
  explicit TimedLines(uint32_t outputs) : outputs_(outputs), cycles_(1), in_pieces_(true) {}
  Pieces* pieces() noexcept override { return &pieces_; }
  Retained* retained() noexcept override { return &retained_; }
  int32_t step(millrace_context* context) override {
    if (at_ == end_) {
      if (in_pieces_) {
        const int32_t answer = next_piece();
        if (answer != MILLRACE_MORE || at_ == end_) return answer;
      } else {
        if (++cycle_ == cycles_ || text_ == end_) return MILLRACE_END;
        at_ = text_;
        shift_ = begun_ += span_;
        turn_ = 0;
      }
    }
    if (turn_ < turns_.size() && turns_[turn_].at == at_) shift_ = begun_ + turns_[turn_++].years;
    const char* begin = at_;
    std::string_view text = next(&at_);
    if constexpr (requires { T::repeats(text); }) {
      if (const uint64_t times = T::repeats(text); times > 0) again(begin, times, &text);
    }
    T& line = room<T>(context, output_);
    if (text.size() > MOST_LINE) {
      leave_out_too_long(text);
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
    return std::array<uint64_t, 4>{number_, left_out_[Left::BROKEN], lines_, whole_}[which];
  }

 private:
  void begin(const char* text, const char* end) noexcept {
    static constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF";
    text_ = at_ = text;
    end_ = end;
    if (std::string_view(text, static_cast<size_t>(end - text)).substr(0, 3) == BYTE_ORDER_MARK)
      at_ = text_ += 3;
  }
  // Reads the times of the lines, and finds where years turn.
  void scan() {
    turns_.clear();
    turn_ = 0;
    int64_t time = 0;
    bool dated = true;
    for (const char* at = text_; at < end_;) {
      const char* begin = at;
      const std::string_view each = next(&at);
      if (each.size() <= MOST_LINE && TIME(each, &time, &dated)) {
        if (!dated) {
          const int64_t year = year_of(time, before_);
          if (year != years_) turns_.push_back({begin, years_ = year});
          time += years_;
          if (before_ < 0 || near(time, before_) || !returns(at, before_)) before_ = time;
        }
        if (whole_ == 0) first_ = last_ = time;
        first_ = time < first_ ? time : first_;
        last_ = time > last_ ? time : last_;
        ++whole_;
      }
      ++lines_;
    }
  }
  // Goes on to the whole lines of the next piece.
  int32_t next_piece() {
    if (std::string own = last_line(); !own.empty()) line_before_ = std::move(own);
    if (!text_in_.empty()) retained_.keep(std::move(text_in_), number_);
    retained_.forget(number_);
    text_in_.clear();
    std::string text = std::move(rest_);
    rest_.clear();
    const Pieces::Next found = pieces_.take(&text);
    if (found == Pieces::Next::NONE_NOW) {
      rest_ = std::move(text);
      return MILLRACE_IDLE;
    }
    if (found == Pieces::Next::ENDED && text.empty()) return MILLRACE_END;
    const size_t newline = text.rfind('\n');
    const size_t whole = found == Pieces::Next::ENDED   ? text.size()
                         : newline == std::string::npos ? 0
                                                        : newline + 1;
    if (whole == 0 && text.size() > MOST_LINE) {  // no more of it is kept than shows that
      if (!in_long_) leave_out_too_long(text);
      in_long_ = true;
      text.clear();
    }
    rest_ = text.substr(whole);
    text.resize(whole);
    // On the heap however short it is: a string that moves to where it is retained takes its
    // characters along, to which tuples point.
    text_in_.reserve(std::max<size_t>(64, line_before_.size() + text.size()));
    text_in_.append(line_before_).append(text);
    const char* from = text_in_.data() + line_before_.size();
    const char* to = text_in_.data() + text_in_.size();
    if (in_long_ && whole > 0) {  // its end
      next_of(&from, to);
      in_long_ = false;
    }
    begin(from, to);
    scan();
    text_ = text_in_.data();
    return MILLRACE_MORE;
  }
  // The last line of this piece that is one of its own, with its line break; none if no line can
  // stand for another one.
  std::string last_line() const {
    if constexpr (requires { T::repeats(std::string_view()); }) {
      const std::string_view all = text_in_;
      for (size_t end = all.size(); end > 0;) {
        const size_t newline = end > 1 ? all.rfind('\n', end - 2) : std::string::npos;
        const size_t first = newline == std::string::npos ? 0 : newline + 1;
        std::string_view line = all.substr(first, end - first);
        if (line.ends_with('\n')) line.remove_suffix(1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty() && T::repeats(line) == 0) return std::string(line) + '\n';
        end = first;
      }
    }
    return {};
  }
  void leave_out_too_long(std::string_view text) {
    left_out_.add_record(Left::BROKEN, number_ + left_out_[Left::BROKEN], text);
  }
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
  std::string_view next(const char** at) const noexcept { return next_of(at, end_); }
  static std::string_view next_of(const char** at, const char* end) noexcept {
    const char* begin = *at;
    const char* newline =
        static_cast<const char*>(std::memchr(begin, '\n', static_cast<size_t>(end - begin)));
    const char* stop = newline != nullptr ? newline : end;
    *at = newline != nullptr ? newline + 1 : end;
    if (stop > begin && stop[-1] == '\r') --stop;
    return {begin, static_cast<size_t>(stop - begin)};
  }
  const char* text_ = nullptr;
  const char* end_ = nullptr;
  const char* at_ = nullptr;
  uint32_t outputs_, output_ = 0;
  uint64_t cycles_, cycle_ = 0, number_ = 0, again_ = 0, lines_ = 0, whole_ = 0;
  // [ns]: shift of this cycle, shift of this line, length of a cycle
  int64_t begun_ = 0, shift_ = 0, span_ = 0;
  int64_t first_ = 0, last_ = 0;                // the least and the greatest time
  int64_t before_ = INT64_MIN / 4, years_ = 0;  // of the line before; its year [ns]
  struct Turn {
    const char* at;
    int64_t years;  // [ns], from here on
  };
  std::vector<Turn> turns_;
  size_t turn_ = 0;
  bool in_pieces_, in_long_ = false;
  Pieces pieces_;
  Retained retained_;
  std::string text_in_, rest_;  // the whole lines of the piece, and the line that has begun
  std::string line_before_;     // in front of the piece, for a line that stands for it
};

}  // namespace millrace::applications
