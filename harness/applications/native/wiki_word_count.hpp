// wiki_word_count.hpp - the operators of WikiWordCount (M19 Figure 2): how often each word comes in
// sliding windows of 60 s, each second.
//
// What is in a window must not depend on threads. So seconds of records count, not those of a
// clock. Each tokeniser tells all counters how far time has come with its changes (event_time.hpp);
// a second is over when it has passed for all tokenisers.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "by_text.hpp"
#include "event_time.hpp"
#include "json.hpp"
#include "lines.hpp"
#include "operator.hpp"

namespace millrace::applications {

using namespace operators;

struct Change {
  uint64_t number;
  int64_t shift;  // of its time [ns]: the input is gone through again and again
  LongText<2028> text;
};
struct Word {
  int64_t time;        // a whole second [ns]
  uint32_t tokeniser;  // that sent it
  Text<56> word;       // empty: only the time counts
};
struct WordCount {
  int64_t time;  // at which the window ends: it has the 60 s before
  uint32_t count;
  Text<56> word;
};
static_assert(sizeof(Change) == 2048 && sizeof(Word) == 72 && sizeof(WordCount) == 72,
              "no holes: equal values are equal bytes");

// An event of recent changes: its time, the title of the page, and the comment of the author.
struct ChangeEvent {
  int64_t time;  // [ns]
  std::string title, comment;
};

inline bool time_of(const Member& member, int64_t* time) noexcept {
  static constexpr int64_t LATEST = int64_t{1} << 33;  // s since 1970
  int64_t seconds = 0;
  const char* end = member.raw.data() + member.raw.size();
  if (member.kind != Member::INTEGER ||
      std::from_chars(member.raw.data(), end, seconds).ec != std::errc())
    return false;
  *time = seconds * SECOND;
  return seconds >= 0 && seconds < LATEST;
}

inline bool parse_change(std::string_view text, ChangeEvent* event) {
  std::array<Member, 3> members{Member{"timestamp"}, Member{"title"}, Member{"comment"}};
  if (!JsonLine::read(text, members.data(), members.size()) || !time_of(members[0], &event->time))
    return false;
  const bool comment = members[2].kind == Member::TEXT;
  if (members[1].kind != Member::TEXT || (!comment && members[2].raw != "null")) return false;
  unescape(members[1].raw, &event->title);
  unescape(comment ? members[2].raw : std::string_view(), &event->comment);
  return true;
}

inline bool time_of_change(std::string_view text, int64_t* time, bool* dated) noexcept {
  ChangeEvent event;
  if (!parse_change(text, &event)) return false;
  *time = event.time;
  *dated = true;
  return true;
}

using Changes = TimedLines<Change, time_of_change>;

// Events to their words, each to the output port of its word.
class Tokenise : public LeavesOut {
 public:
  Tokenise(uint32_t number, uint32_t outputs, const EventTime::Rule& rule)
      : number_(number), outputs_(outputs), clock_(rule) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Change& in = *static_cast<const Change*>(tuple);
    if (!parse_change(in.text.view(), &event_)) {
      left_out_.add_record(Left::BROKEN, in.number, in.text.view());
      return 0;
    }
    number_in_ = in.number;
    return beginning_.take(&clock_, tuple, sizeof in, event_.time + in.shift,
                           [&](const void* each, int64_t time) {
                             if (each != tuple)
                               parse_change(static_cast<const Change*>(each)->text.view(), &event_);
                             take(context, time);
                             return 0;
                           });
  }
  int32_t finish(millrace_context* context) override {
    beginning_.end(&clock_, sizeof(Change), [&](const void* each, int64_t time) {
      parse_change(static_cast<const Change*>(each)->text.view(), &event_);
      take(context, time);
      return 0;
    });
    tell(context, std::numeric_limits<int64_t>::max());
    return 0;
  }
  // records that could not be read, words, words that are too long, records that are late, and
  // ahead of time
  uint64_t counted(uint32_t which) const noexcept override {
    return std::array<uint64_t, 5>{left_out_[Left::BROKEN], words_, too_long_,
                                   left_out_[Left::LATE], clock_.ahead()}[which];
  }

 private:
  void take(millrace_context* context, int64_t time) {
    if (time < clock_.passed()) {
      left_out_.add_record(Left::LATE, number_in_, event_.title);
      return;
    }
    clock_.see(time);
    if (clock_.passed() > told_) tell(context, clock_.passed());
    time_ = time;
    words(context, event_.title);
    words(context, event_.comment);
  }
  void tell(millrace_context* context, int64_t time) {
    time_ = told_ = time;
    for (uint32_t output = 0; output < outputs_; ++output) send(context, output, {});
  }
  void words(millrace_context* context, std::string_view text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      const std::string_view word = text.substr(begin, end - begin);
      begin = end + 1;
      if (word.empty()) continue;
      ++words_;
      if (word.size() > sizeof(Word::word.text)) {
        ++too_long_;
      } else {
        send(context, partition_of(word, outputs_), word);
      }
    }
  }
  void send(millrace_context* context, uint32_t output, std::string_view word) {
    Word& out = room<Word>(context, output);
    out.time = time_;
    out.tokeniser = number_;
    out.word.set(word);
    millrace_send(context, output);
  }
  uint32_t number_, outputs_;
  EventTime clock_;
  Beginning beginning_;
  int64_t time_ = 0, told_ = -1;
  uint64_t number_in_ = 0, words_ = 0, too_long_ = 0;
  ChangeEvent event_;
};

// A sliding window by time, of WINDOW by one second, for each word. A window that holds a word says
// how often; one that does not says nothing.
class CountWords : public Operator {
 public:
  static constexpr int64_t WINDOW = 60 * SECOND;
  static constexpr size_t MOST = size_t{1} << 22;  // words of all windows that are not over
  explicit CountWords(uint32_t tokenisers) : reached_(tokenisers, -1) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Word& in = *static_cast<const Word*>(tuple);
    if (in.word.length > 0) return keep(in);
    const int64_t before = over();
    reached_[in.tokeniser] = in.time;
    if (over() > before) go_on(context, over());
    return 0;
  }

 private:
  struct Entry {
    uint32_t count = 0;    // in the window
    uint32_t waiting = 0;  // in seconds that are not over yet
  };
  using Entries = ByText<Entry>;
  using Occurrences = std::vector<Entries::value_type*>;  // a map keeps its values where they are

  int64_t over() const noexcept { return *std::min_element(reached_.begin(), reached_.end()); }
  int32_t keep(const Word& in) {
    auto found = entries_.find(in.word.view());
    if (found == entries_.end()) {
      if (entries_.size() == MOST_KEYS) return TOO_MANY_KEYS;
      found = entries_.emplace(std::string(in.word.view()), Entry{}).first;
    }
    if (kept_ == MOST) return TOO_MANY;
    ++kept_;
    ++found->second.waiting;
    seconds_[in.time].push_back(&*found);
    return 0;
  }
  // Windows that end at `until` or before.
  void go_on(millrace_context* context, int64_t until) {
    while (!seconds_.empty()) {
      if (entries_in_window_ == 0) {  // nothing until the next second that has words
        const auto next = seconds_.upper_bound(end_ - SECOND);
        if (next == seconds_.end() || next->first > until - SECOND) return;
        end_ = next->first;
      }
      if (end_ > until - SECOND) return;
      end_ += SECOND;
      enter(seconds_.find(end_ - SECOND));
      leave(seconds_.find(end_ - SECOND - WINDOW));
      for (const auto& [word, entry] : entries_) {
        if (entry.count > 0) send(context, word, entry.count);
      }
    }
  }
  void enter(std::map<int64_t, Occurrences>::iterator second) {
    if (second == seconds_.end()) return;
    for (Entries::value_type* each : second->second) {
      entries_in_window_ += each->second.count++ == 0;
      --each->second.waiting;
    }
  }
  void leave(std::map<int64_t, Occurrences>::iterator second) {
    if (second == seconds_.end()) return;
    for (Entries::value_type* each : second->second) {
      if (--each->second.count > 0) continue;
      --entries_in_window_;
      if (each->second.waiting == 0) entries_.erase(entries_.find(each->first));
    }
    kept_ -= second->second.size();
    seconds_.erase(second);
  }
  void send(millrace_context* context, std::string_view word, uint32_t count) {
    WordCount& out = room<WordCount>(context, 0);
    out.time = end_;
    out.count = count;
    out.word.set(word);
    millrace_send(context, 0);
  }
  std::vector<int64_t> reached_;  // by tokeniser: its words before that are all here
  Entries entries_;
  std::map<int64_t, Occurrences> seconds_;  // that a window still needs
  int64_t end_ = -SECOND;                   // of the last window
  size_t entries_in_window_ = 0, kept_ = 0;
};

}  // namespace millrace::applications
