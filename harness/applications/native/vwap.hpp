// vwap.hpp - the operators of VWAP (M19 s4.2, after the public sample of IBM Streams): the volume
// weighted average price of each ticker over its last four trades, and what quotes are bargains
// beside it.
//
// Which average a quote is compared with must not depend on threads. So each channel numbers its
// records 0, 1, 2, ...; each makes one tuple at the operator where trades and quotes meet, and that
// takes them in the order of their numbers.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "by_text.hpp"
#include "operator.hpp"
#include "windows.hpp"

namespace millrace::applications {

using namespace operators;

struct CsvLine {
  uint64_t number;
  LongText<212> text;
};
struct Tick {
  uint64_t number;  // of the line; behind a route, of the record in its channel
  double price;     // of a trade; of a quote, the ask
  double volume;    // of a trade; of a quote, the size of the ask
  uint32_t trade;   // 1; of a quote 0
  Text<16> ticker;
};
struct Sums {
  uint64_t number;
  double value;   // sum of price x volume over the last trades
  double volume;  // sum of volume
  Text<16> ticker;
  uint32_t trades;  // in the window
};
struct Average {
  uint64_t number;
  double vwap;
  Text<16> ticker;
  uint32_t trades;
};
struct Bargain {
  uint64_t number;
  double vwap;  // 0: there was no trade yet
  double ask;
  double size;
  double index;
  Text<16> ticker;
  uint32_t channel;
};
static_assert(sizeof(CsvLine) == 224 && sizeof(Tick) == 48 && sizeof(Sums) == 48,
              "no holes: equal values are equal bytes");
static_assert(sizeof(Average) == 40 && sizeof(Bargain) == 64, "nor here");

// -- source ---------------------------------------------------------------------------------------

// The closing quote of a field of CSV whose quote is at `at`; `end`: it is never closed.
inline const char* closing_quote(const char* at, const char* end) noexcept {
  for (++at; at < end && (*at != '"' || (at + 1 < end && at[1] == '"')); ++at) at += *at == '"';
  return std::min(at, end);
}

// The end of a record of CSV that begins at `at`: a line break that is not within quotes (RFC
// 4180). Null: there is none, for a quote is never closed.
inline const char* end_of_record(const char* at, const char* end) noexcept {
  bool begins = true;  // a field, which may be in quotes
  for (; at < end && *at != '\n'; ++at) {
    if (*at == '"' && begins) {
      at = closing_quote(at, end);
      if (at == end) return nullptr;
    }
    begins = *at == ',' || (begins && (*at == ' ' || *at == '\t'));
  }
  return at;
}

// Records of a text in memory behind its header, `cycles` times over (0: for ever); or of an input
// that comes in pieces. A quote that is never closed would hide all that follows: then its line is
// a record.
class CsvLines : public LeavesOut {
 public:
  static constexpr size_t MOST_RECORD = 65'536;  // bytes; a longer one is broken
  CsvLines(const char* text, size_t size, uint64_t cycles)
      : text_(text), end_(text + size), cycles_(cycles), in_pieces_(false) {
    text_ = behind(record_end(text_));
    at_ = text_;
  }
  CsvLines() : cycles_(1), in_pieces_(true) {}
  Pieces* pieces() noexcept override { return &pieces_; }
  Retained* retained() noexcept override { return &retained_; }
  int32_t step(millrace_context* context) override {
    if (in_pieces_ && !has_whole_record()) {
      const Pieces::Next found = next_piece();
      if (found == Pieces::Next::NONE_NOW) return MILLRACE_IDLE;
      if (found == Pieces::Next::ENDED && at_ == end_) return MILLRACE_END;
      if (header_ && has_whole_record()) {
        header_ = false;
        at_ = behind(record_end(at_));
      }
      return MILLRACE_MORE;
    }
    if (at_ == end_) {
      if (++cycle_ == cycles_ || text_ == end_) return MILLRACE_END;
      at_ = text_;
      quote_ = nullptr;
    }
    const char* stop = record_end(at_);
    std::string_view text(at_, static_cast<size_t>(stop - at_));
    at_ = behind(stop);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    CsvLine& line = room<CsvLine>(context, 0);
    ++lines_;
    if (text.size() > MOST_RECORD) {
      left_out_.add_record(Left::BROKEN, lines_ - 1, text);
      return MILLRACE_MORE;
    }
    line.number = lines_ - 1;
    line.text.set(text, text.data());
    millrace_send(context, 0);
    return MILLRACE_MORE;
  }
  uint64_t counted(uint32_t which) const noexcept override {
    return which == 0 ? lines_ : left_out_[Left::BROKEN];
  }

 private:
  const char* behind(const char* stop) const noexcept { return stop < end_ ? stop + 1 : end_; }
  const char* record_end(const char* at) noexcept {
    const size_t left = static_cast<size_t>(end_ - at);
    const void* newline = std::memchr(at, '\n', left);
    const char* line_end = newline != nullptr ? static_cast<const char*>(newline) : end_;
    if (quote_ == nullptr || quote_ < at) {
      const void* quote = std::memchr(at, '"', left);
      quote_ = quote != nullptr ? static_cast<const char*>(quote) : end_;
    }
    if (quote_ >= line_end) return line_end;
    const char* stop = end_of_record(at, left > MOST_RECORD ? at + MOST_RECORD : end_);
    return stop != nullptr ? std::max(stop, line_end) : line_end;
  }
  // The record at hand does not depend on what is still to come.
  bool has_whole_record() noexcept {
    if (at_ == end_) return false;
    if (ended_ || static_cast<size_t>(end_ - at_) > MOST_RECORD) return true;
    const char* stop = end_of_record(at_, end_);
    return stop != nullptr && stop < end_;
  }
  Pieces::Next next_piece() {
    std::string text(at_, static_cast<size_t>(end_ - at_));
    const Pieces::Next found = pieces_.take(&text);
    if (found == Pieces::Next::NONE_NOW) return found;
    ended_ = found == Pieces::Next::ENDED;
    if (!text_in_.empty()) retained_.keep(std::move(text_in_), lines_);
    retained_.forget(lines_);
    text_in_ = std::move(text);
    text_ = at_ = text_in_.data();
    end_ = at_ + text_in_.size();
    quote_ = nullptr;
    return found;
  }
  const char* quote_ = nullptr;  // the next one, from where it was looked for last; end_: none
  const char* text_ = nullptr;
  const char* end_ = nullptr;
  const char* at_ = nullptr;
  uint64_t cycles_, cycle_ = 0, lines_ = 0;
  bool in_pieces_, ended_ = false, header_ = true;
  Pieces pieces_;
  Retained retained_;
  std::string text_in_;
};

// -- parsing --------------------------------------------------------------------------------------

// Columns of a record, by their numbers in the header.
struct Columns {
  uint32_t ticker, type, price, volume, ask, ask_size;
  uint32_t last() const noexcept { return std::max({ticker, type, price, volume, ask, ask_size}); }
};

enum class Read { TRADE, QUOTE, HEADER, OTHER, BROKEN, ONE_SIDED, UNTRADED };

inline std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A finite number, with a sign and an exponent if it has them.
inline bool number_of(std::string_view field, double* value) noexcept {
  if (!field.empty() && field.front() == '+') field.remove_prefix(1);
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, *value, std::chars_format::general);
  return error == std::errc() && stop == end && std::isfinite(*value);
}

// Fields of a record of CSV (RFC 4180), without blanks around them. In quotes a field may have
// commas and line breaks, and two quotes for one; then it is copied.
class Fields {
 public:
  static constexpr uint32_t MOST = 64;
  // The first `most` fields of a record; how many there are of them.
  uint32_t read(std::string_view text, uint32_t most) {
    const char* at = text.data();
    const char* end = at + text.size();
    unquoted_.clear();
    for (uint32_t count = 0; count < most;) {
      const char* begin = at;
      while (begin < end && (*begin == ' ' || *begin == '\t')) ++begin;
      const bool quoted = begin < end && *begin == '"';
      if (quoted) {
        at = closing_quote(begin, end);
        fields_[count++] = unquoted({begin + 1, static_cast<size_t>(at - begin) - 1}, text.size());
      }
      const char* comma =
          static_cast<const char*>(std::memchr(at, ',', static_cast<size_t>(end - at)));
      if (!quoted) {
        const char* stop = comma != nullptr ? comma : end;
        fields_[count++] = {at, static_cast<size_t>(stop - at)};
      }
      if (comma == nullptr || count == most) return count;
      at = comma + 1;
    }
    return most;
  }
  std::string_view operator[](uint32_t i) const noexcept { return without_blanks(fields_[i]); }

 private:
  // What is between quotes, with one quote for two. `most`: bytes of the record.
  std::string_view unquoted(std::string_view text, size_t most) {
    if (text.find('"') == std::string_view::npos) return text;
    unquoted_.reserve(most);  // so that views of it stay
    const size_t from = unquoted_.size();
    for (size_t i = 0; i < text.size(); ++i) {
      i += text[i] == '"';
      unquoted_.push_back(text[i]);
    }
    return std::string_view(unquoted_).substr(from);
  }
  std::array<std::string_view, MOST> fields_;
  std::string unquoted_;
};

// A record of `columns`; those of another type than Trade and Quote are OTHER. A quote without an
// ask is of one side of the market. A Trade without price and volume tells of a yield or the like.
inline Read parse_tick(std::string_view text, const Columns& columns, Fields* fields, Tick* tick) {
  const uint32_t last = columns.last();
  if (fields->read(text, last + 1) <= last) return Read::BROKEN;
  const std::string_view type = (*fields)[columns.type];
  if (type == "Type") return Read::HEADER;
  const bool trade = type == "Trade";
  if (!trade && type != "Quote") return Read::OTHER;
  const std::string_view ticker = (*fields)[columns.ticker];
  if (ticker.empty() || !tick->ticker.fits(ticker)) return Read::BROKEN;
  const std::string_view price = (*fields)[trade ? columns.price : columns.ask];
  const std::string_view volume = (*fields)[trade ? columns.volume : columns.ask_size];
  if (!trade && (price.empty() || volume.empty())) return Read::ONE_SIDED;
  if (trade && price.empty() && volume.empty()) return Read::UNTRADED;
  if (!number_of(price, &tick->price) || !number_of(volume, &tick->volume)) return Read::BROKEN;
  if (tick->volume < 0.0) return Read::BROKEN;
  tick->trade = trade ? 1 : 0;
  tick->ticker.set(ticker);
  return trade ? Read::TRADE : Read::QUOTE;
}

// Lines to trades and quotes, each to the output port of its ticker.
class ParseTicks : public LeavesOut {
 public:
  ParseTicks(const Columns& columns, uint32_t channels) : columns_(columns), channels_(channels) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const CsvLine& in = *static_cast<const CsvLine*>(tuple);
    Tick tick;
    const Read read = parse_tick(in.text.view(), columns_, &fields_, &tick);
    ++counts_[static_cast<size_t>(read)];
    if (read == Read::BROKEN) left_out_.add_record(Left::BROKEN, in.number, in.text.view());
    if (read == Read::OTHER) left_out_.add_record(Left::UNKNOWN, in.number, in.text.view());
    if (read != Read::TRADE && read != Read::QUOTE) return 0;
    tick.number = in.number;
    const uint32_t channel = partition_of(tick.ticker.view(), channels_);
    room<Tick>(context, channel) = tick;
    millrace_send(context, channel);
    return 0;
  }
  uint64_t counted(uint32_t which) const noexcept override { return counts_[which]; }

 private:
  Columns columns_;
  uint32_t channels_;
  Fields fields_;
  std::array<uint64_t, 7> counts_{};
};

// -- a channel ------------------------------------------------------------------------------------

// Trades to port 0, quotes to port 1, numbered.
class Route : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Tick& in = *static_cast<const Tick*>(tuple);
    const uint32_t output = in.trade == 1 ? 0 : 1;
    Tick& out = room<Tick>(context, output);
    out = in;
    out.number = number_++;
    millrace_send(context, output);
    return 0;
  }

 private:
  uint64_t number_ = 0;
};

// A sliding window by count, of 4 by 1, for each ticker.
class SumTrades : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Tick& in = *static_cast<const Tick*>(tuple);
    return windows_.add(in.ticker.view(), tuple,
                        [&](const char* state, const millrace_window& window) {
                          const State& sums = *reinterpret_cast<const State*>(state);
                          Sums& out = room<Sums>(context, 0);
                          out.number = in.number;
                          out.value = sums.value;
                          out.volume = sums.volume;
                          out.ticker = in.ticker;
                          out.trades = static_cast<uint32_t>(window.count);
                          millrace_send(context, 0);
                          return 0;
                        });
  }

 private:
  struct State {
    double value, volume;
    // a pane is one trade
    void add(const Tick& tick, uint64_t) noexcept {
      *this = {tick.price * tick.volume, tick.volume};
    }
    void combine(const State& later) noexcept {
      *this = {value + later.value, volume + later.volume};
    }
  };
  CountWindows<TypedFold<State, Tick>> windows_{{}, 4, 1};
};

class Divide : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Sums& in = *static_cast<const Sums*>(tuple);
    Average& out = room<Average>(context, 0);
    out.number = in.number;
    out.vwap = in.volume > 0.0 ? in.value / in.volume : 0.0;
    out.ticker = in.ticker;
    out.trades = in.trades;
    millrace_send(context, 0);
    return 0;
  }
};

// Passes on what it gets: quotes as they are compared, bargains of all channels.
template <class T>
class PassOn : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    room<T>(context, 0) = *static_cast<const T*>(tuple);
    millrace_send(context, 0);
    return 0;
  }
};

// An average (port 0) or a quote (port 1), where they meet.
struct Priced {
  uint64_t number;
  double price, size;
  Text<16> ticker;
  bool average;
};

// Takes both in the order of their numbers in the channel: each quote with the last average of its
// ticker.
class BargainIndex : public Sequencer<Priced> {
 public:
  explicit BargainIndex(uint32_t channel) : channel_(channel) {}
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    Priced in;
    if (port == 0) {
      const Average& average = *static_cast<const Average*>(tuple);
      in = {average.number, average.vwap, 0.0, average.ticker, true};
    } else {
      const Tick& quote = *static_cast<const Tick*>(tuple);
      in = {quote.number, quote.price, quote.volume, quote.ticker, false};
    }
    return Sequencer<Priced>::process(context, port, &in);
  }

 protected:
  int32_t pass(millrace_context* context, const Priced& in) override {
    if (in.average) {
      double* average = averages_.at(in.ticker.view());
      if (average == nullptr) return TOO_MANY_KEYS;
      *average = in.price;
      return 0;
    }
    const double* average = averages_.find(in.ticker.view());
    const auto finite = [](double index) {
      return std::min(index, std::numeric_limits<double>::max());
    };
    Bargain& out = room<Bargain>(context, 0);
    out.number = in.number;
    out.vwap = average != nullptr ? *average : 0.0;
    out.ask = in.price;
    out.size = in.size;
    out.index = out.vwap > out.ask ? finite(out.size * std::exp(out.vwap - out.ask)) : 0.0;
    out.ticker = in.ticker;
    out.channel = channel_;
    millrace_send(context, 0);
    return 0;
  }

 private:
  uint32_t channel_;
  ByKey<double> averages_;
};

class BargainsOnly : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Bargain& in = *static_cast<const Bargain*>(tuple);
    if (!(in.index > 0.0)) return 0;
    room<Bargain>(context, 0) = in;
    millrace_send(context, 0);
    return 0;
  }
};

}  // namespace millrace::applications
