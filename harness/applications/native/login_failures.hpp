// login_failures.hpp - the operators of LoginFailures (P17 Figure 1; the larger form after its
// public parent, streamsx.demo.logwatch).
//
// Tuples have the times of their lines, which may go back. Attempts are windows by count; their
// span is the time from the first to the last. Behind the sequencer, tuples that carry only a time
// say how far time has come (event_time.hpp), so that the join can forget tuples.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "join.hpp"
#include "lines.hpp"
#include "operator.hpp"
#include "syslog.hpp"
#include "windows.hpp"

namespace millrace::applications {

using namespace operators;

// Times and spans are in ns; times are since 1970.
struct Line {
  uint64_t number;
  int64_t shift;   // of its time: the input is read again and again
  const char* at;  // its first byte in the input
  LongText<124> text;
  // The times that a line stands for the one before it: `last message repeated 3 times`, as BSD's
  // syslogd writes. 0: it stands for itself.
  static uint64_t repeats(std::string_view text) noexcept;
  static bool of_one_host(std::string_view repeats, std::string_view other) noexcept;
};
struct Log {
  int64_t time;
  uint64_t number;
  LongText<28> host;  // empty: a line that could not be read
  LongText<28> service;
  LongText<124> message;  // empty: only the time counts
};
struct Failure {
  int64_t time;
  uint64_t number;
  Text<12> uid;
  Text<12> euid;
  Text<20> tty;
  LongText<60> rhost;  // long names are with the operator that read them
  LongText<28> user;
  bool only_time() const noexcept {
    return rhost.length + user.length + uid.length + tty.length == 0;
  }
};
struct Attempts {
  int64_t time;    // of the last one
  int64_t span;    // from the first to the last
  uint32_t count;  // 0: only the time counts
  uint32_t window;
  LongText<60> rhost;
  LongText<28> user;  // of the last one
};
struct Success {
  int64_t time;
  LongText<28> user;  // empty: only the time counts
};
struct BreakIn {
  int64_t suspected;  // time of the attempts
  int64_t opened;     // time of the session
  uint32_t window;
  LongText<60> rhost;
  LongText<28> user;
};
static_assert(sizeof(Line) == 152 && sizeof(Log) == 208 && sizeof(Failure) == 168,
              "no holes: equal values are equal bytes");
static_assert(sizeof(Attempts) == 120 && sizeof(Success) == 40 && sizeof(BreakIn) == 120,
              "no holes: equal values are equal bytes");

// Results with whole names, which the sinks keep.
using Name = Text<256>;
inline constexpr size_t MOST_NAME = 255;  // bytes of a user or a host
struct FoundFailure {
  int64_t time;
  uint64_t number;
  Text<12> uid;
  Text<12> euid;
  Text<20> tty;
  Name rhost, user;
};
struct FoundSuspect {
  int64_t time, span;
  uint32_t count, window;
  Name rhost, user;
};
struct FoundBreakIn {
  int64_t suspected, opened;
  uint32_t window;
  Name rhost, user;
};
inline void copy_all_but_names(const Failure& in, FoundFailure* out) noexcept {
  out->time = in.time;
  out->number = in.number;
  out->uid = in.uid;
  out->euid = in.euid;
  out->tty = in.tty;
}
inline void copy_all_but_names(const Attempts& in, FoundSuspect* out) noexcept {
  out->time = in.time;
  out->span = in.span;
  out->count = in.count;
  out->window = in.window;
}
inline void copy_all_but_names(const BreakIn& in, FoundBreakIn* out) noexcept {
  out->suspected = in.suspected;
  out->opened = in.opened;
  out->window = in.window;
}

// A sink that keeps tuples with their whole names.
template <class T, class Found>
class CollectNames : public Collect {
 public:
  explicit CollectNames(uint64_t most) : Collect(sizeof(Found), most) {}
  int32_t process(millrace_context*, uint32_t, const void* tuple) override {
    const T& in = *static_cast<const T*>(tuple);
    const bool lies_elsewhere =
        in.rhost.length > sizeof in.rhost.text || in.user.length > sizeof in.user.text;
    if (!lies_elsewhere && !keeps()) {
      count(static_cast<const char*>(tuple), sizeof in);
      return 0;
    }
    const Found found = found_of(in);
    keep(reinterpret_cast<const char*>(&found));
    if (lies_elsewhere) {
      count(reinterpret_cast<const char*>(&found), sizeof found);
    } else {
      count(static_cast<const char*>(tuple), sizeof in);
    }
    return 0;
  }
  void result(const void* tuple, char* out, size_t bytes) const override {
    const Found found = found_of(*static_cast<const T*>(tuple));
    std::memcpy(out, &found, bytes);
  }

 private:
  static Found found_of(const T& in) noexcept {
    Found found{};
    copy_all_but_names(in, &found);
    found.rhost.set(in.rhost.view());
    found.user.set(in.user.view());
    return found;
  }
};

// Names that are too long for a tuple; each is kept once, for as long as the operator lives.
class LongNames {
 public:
  template <uint32_t N>
  void set(LongText<N>* field, std::string_view name) {
    const bool here = name.size() <= N;
    field->set(name, here ? nullptr : names_.emplace(name).first->data());
  }

 private:
  std::unordered_set<std::string> names_;
};

// -- source ---------------------------------------------------------------------------------------

inline bool time_of_log(std::string_view text, int64_t* time, bool* dated) noexcept {
  LogLine line;
  if (!parse_log(text, &line)) return false;
  *time = line.time;
  *dated = line.dated;
  return true;
}

inline constexpr uint64_t MOST_REPEATS = 65'536;

inline uint64_t Line::repeats(std::string_view text) noexcept {
  static constexpr std::string_view SAYS = "last message repeated ", BEHIND = " ---";
  if (text.ends_with(BEHIND)) text.remove_suffix(BEHIND.size());
  if (!text.ends_with(" times") && !text.ends_with(" time")) return 0;
  const size_t place = text.rfind(SAYS);
  if (place == std::string_view::npos) return 0;
  const char* end = text.data() + text.size();
  uint64_t times = 0;
  const auto [rest, error] = std::from_chars(text.data() + place + SAYS.size(), end, times);
  const std::string_view unit(rest, static_cast<size_t>(end - rest));
  const bool is_one = error == std::errc() && (unit == " times" || unit == " time");
  return is_one && times <= MOST_REPEATS ? times : 0;
}

inline bool Line::of_one_host(std::string_view repeats, std::string_view other) noexcept {
  LogLine says, said;
  if (!parse_log(repeats, &says) || !parse_log(other, &said)) return false;
  return says.host == said.host || says.host == "---";
}

using Lines = TimedLines<Line, time_of_log>;

// Sends each tuple to the next of its output ports in turn, as a split does.
template <class T>
class InTurn : public Operator {
 public:
  explicit InTurn(uint32_t outputs) : outputs_(outputs) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    room<T>(context, output_) = *static_cast<const T*>(tuple);
    millrace_send(context, output_);
    output_ = output_ + 1 < outputs_ ? output_ + 1 : 0;
    return 0;
  }

 private:
  uint32_t outputs_, output_ = 0;
};

// -- parsing --------------------------------------------------------------------------------------

inline bool holds(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

inline constexpr std::string_view FAILED_TO_LOG_IN = "authentication failure";
inline constexpr std::string_view SESSION_OPENED = "session opened for user ";

// Parses lines. One that cannot be parsed is counted, as broken if it is about a failure; with
// `keep` it goes on as an empty log line, so that no number is missing.
class Parse : public LeavesOut {
 public:
  explicit Parse(bool keep) : keep_(keep) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Line& in = *static_cast<const Line*>(tuple);
    Log& out = room<Log>(context, 0);
    const std::string_view text = in.text.view();
    LogLine line;
    if (parse_log(text, &line) &&
        (line.form != LogLine::BYTES || bytes_of(line.message, &plain_))) {
      const auto set = [&](auto* field, std::string_view given) {
        const bool here = given.size() <= sizeof field->text;
        field->set(given, here ? nullptr : in.at + (given.data() - text.data()));
      };
      out.time = line.time + in.shift;
      set(&out.host, line.host);
      set(&out.service, line.service);
      if (line.form == LogLine::PLAIN || !set_plain(line, &out)) set(&out.message, line.message);
    } else {
      const bool broken = holds(text, FAILED_TO_LOG_IN);
      left_out_.add_record(broken ? Left::BROKEN : Left::UNKNOWN, in.number, text);
      if (!keep_) return 0;
      out.time = 0;
      out.host.set({}, nullptr);
      out.service.set({}, nullptr);
      out.message.set({}, nullptr);
    }
    out.number = in.number;
    millrace_send(context, 0);
    return 0;
  }
  // lines that could not be read: about failures, and others
  uint64_t counted(uint32_t which) const noexcept override {
    return left_out_[which == 0 ? Left::BROKEN : Left::UNKNOWN];
  }

 private:
  // Sets a message of JSON without its escapes; false: it is too long for the tuple. Of a message
  // that is an array of bytes, which are in `plain_`, the tuple gets all if later operators read
  // it, or else the first ones.
  bool set_plain(const LogLine& line, Log* out) {
    constexpr size_t ROOM = sizeof out->message.text;
    if (line.form == LogLine::ESCAPED) {
      unescape(line.message, &plain_);
      if (plain_.size() > ROOM) return false;
    } else {
      while (plain_.ends_with('\r') || plain_.ends_with('\n')) plain_.pop_back();
      if (holds(plain_, FAILED_TO_LOG_IN) || holds(plain_, SESSION_OPENED)) {
        long_.set(&out->message, plain_);
        return true;
      }
    }
    out->message.set(std::string_view(plain_).substr(0, ROOM), nullptr);
    return true;
  }
  bool keep_;
  std::string plain_;
  LongNames long_;  // messages that are bytes in JSON
};

class LogSequencer : public Sequencer<Log> {
 protected:
  int32_t pass(millrace_context* context, const Log& tuple) override {
    if (tuple.host.length == 0) return 0;
    room<Log>(context, 0) = tuple;
    millrace_send(context, 0);
    return 0;
  }
};

// Numbers failures anew, since tuples that carry only a time have had numbers, too. Port 0 gets
// failures alone, port 1 both.
class FailureSequencer : public Sequencer<Failure> {
 protected:
  int32_t pass(millrace_context* context, const Failure& tuple) override {
    const bool failure = !tuple.only_time();
    for (uint32_t output = failure ? 0 : 1; output < 2; ++output) {
      Failure& out = room<Failure>(context, output);
      out = tuple;
      out.number = failures_;
      millrace_send(context, output);
    }
    failures_ += failure;
    return 0;
  }

 private:
  uint64_t failures_ = 0;
};

// Tuples after which an operator sends its time.
inline constexpr uint32_t MARK_EVERY = 256;

// The times that a message stands for, as rsyslog writes: `message repeated 3 times: [ MESSAGE]`.
// Replaces such a message by the one inside.
inline uint64_t repeated(std::string_view* message) noexcept {
  static constexpr std::string_view BEFORE = "message repeated ", BEHIND = " times: [";
  if (message->substr(0, BEFORE.size()) != BEFORE) return 1;
  const std::string_view rest = message->substr(BEFORE.size());
  uint64_t times = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), times);
  std::string_view inner = rest.substr(static_cast<size_t>(end - rest.data()));
  if (error != std::errc() || inner.substr(0, BEHIND.size()) != BEHIND || inner.back() != ']' ||
      times > MOST_REPEATS)
    return 1;
  inner = inner.substr(BEHIND.size(), inner.size() - BEHIND.size() - 1);
  inner.remove_prefix(std::min(inner.find_first_not_of(' '), inner.size()));
  *message = inner;
  return times;
}

// Sends failed logins to its output ports in turn; with `marks` also, from time to time, a log line
// without a message, for its time.
class FailuresOnly : public InTurn<Log> {
 public:
  FailuresOnly(uint32_t outputs, bool marks, const EventTime::Rule& rule)
      : InTurn<Log>(outputs), marks_(marks), clock_(rule) {}
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    std::string_view message = in.message.view();
    if (holds(in.service.view(), "sshd") && holds(message, FAILED_TO_LOG_IN)) {
      uint64_t times = repeated(&message);
      Log one;
      if (times != 1) {
        one = in;
        one.message.set(message, message.data());  // in the input, if it is long
        tuple = &one;
      }
      for (; times > 0; --times) InTurn<Log>::process(context, port, tuple);
    }
    if (!marks_) return 0;
    clock_.watch(in.time);
    if (++seen_ % MARK_EVERY != 0) return 0;
    Log mark = in;
    mark.time = clock_.passed();
    mark.message.set({}, nullptr);
    return InTurn<Log>::process(context, port, &mark);
  }
  uint64_t counted(uint32_t) const noexcept override { return clock_.ahead(); }

 private:
  bool marks_;
  EventTime clock_;
  uint64_t seen_ = 0;
};

// Numbers tuples 0, 1, 2, ..., and sends them to its output ports in turn.
class Mark : public Operator {
 public:
  explicit Mark(uint32_t outputs) : outputs_(outputs) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const uint32_t output = static_cast<uint32_t>(number_ % outputs_);
    Log& out = room<Log>(context, output);
    out = *static_cast<const Log*>(tuple);
    out.number = number_++;
    millrace_send(context, output);
    return 0;
  }

 private:
  uint32_t outputs_;
  uint64_t number_ = 0;
};

// Parses `authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=HOST  user=NAME`.
class ParseFailure : public LeavesOut {
 public:
  explicit ParseFailure(bool keep) : keep_(keep) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    Failure& out = room<Failure>(context, 0);
    std::string_view uid, euid, tty, rhost, user;
    const std::string_view message = in.message.view();
    const size_t semicolon = message.find(';');
    bool read = semicolon != std::string_view::npos;
    if (read) {
      Words words(message.substr(semicolon + 1));
      for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        const size_t equals = word.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
        if (name == "uid") uid = value;
        if (name == "euid") euid = value;
        if (name == "tty") tty = value;
        if (name == "rhost") rhost = value;
        if (name == "user") user = value;
      }
      read = uid.size() + tty.size() + rhost.size() + user.size() > 0 && out.uid.fits(uid) &&
             out.euid.fits(euid) && out.tty.fits(tty) && rhost.size() <= MOST_NAME &&
             user.size() <= MOST_NAME;
    }
    if (!read) {
      // Other words about a failure are no failure of PAM
      if (semicolon != std::string_view::npos)
        left_out_.add_record(Left::BROKEN, keep_ ? Example::UNKNOWN : in.number, message);
      if (!keep_) return 0;
      uid = euid = tty = rhost = user = {};
    }
    // a tuple that is no failure keeps its number alone: only marks say how far time has come
    out.time = read || message.empty() ? in.time : EventTime::NEVER;
    out.number = in.number;
    out.uid.set(uid);
    out.euid.set(euid);
    out.tty.set(tty);
    names_.set(&out.rhost, rhost);
    names_.set(&out.user, user);
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return left_out_[Left::BROKEN]; }

 private:
  bool keep_;
  LongNames names_;
};

// -- suspects and break-ins -----------------------------------------------------------------------

// Sends the time that every `count` failures of a remote host took. A tumbling window by count.
class CountAttempts : public Operator {
 public:
  CountAttempts(uint32_t count, uint32_t window) : window_(window), windows_({}, count, count) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Failure& in = *static_cast<const Failure*>(tuple);
    if (in.only_time()) {
      if (in.time != EventTime::NEVER) send(context, in.time, 0, 0, {}, {});
      return 0;
    }
    return windows_.add(in.rhost.view(), tuple,
                        [&](const char* state, const millrace_window& window) {
                          send(context, in.time, reinterpret_cast<const Taken*>(state)->span(),
                               static_cast<uint32_t>(window.count), in.rhost, in.user);
                          return 0;
                        });
  }

 private:
  // Time that failures took, from the first to the last. Where their times go back by more than
  // SET_BACK, a clock was set back: the times before and after that are added up.
  struct Taken {
    static constexpr int64_t SET_BACK = 20 * 60 * SECOND;  // zones differ by half an hour at least
    int64_t first, last, before;
    void add(const Failure& failure, uint64_t count) noexcept {
      const int64_t time = failure.time;
      if (count == 0 || last - time > SET_BACK) {
        before = span();
        first = last = time;
      }
      first = std::min(first, time);
      last = std::max(last, time);
    }
    void combine(const Taken&) noexcept {}
    int64_t span() const noexcept { return before + (last - first); }
  };
  void send(millrace_context* context, int64_t time, int64_t span, uint32_t count,
            const LongText<60>& rhost, const LongText<28>& user) {
    Attempts& out = room<Attempts>(context, 0);
    out.time = time;
    out.span = span;
    out.count = count;
    out.window = window_;
    out.rhost = rhost;
    out.user = user;
    millrace_send(context, 0);
  }
  uint32_t window_;
  CountWindows<TypedFold<Taken, Failure>> windows_;
};

// Passes attempts that came within `span` nanoseconds.
class CutOff : public Operator {
 public:
  explicit CutOff(int64_t span) : span_(span) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Attempts& in = *static_cast<const Attempts*>(tuple);
    if (in.count > 0 && in.span >= span_) return 0;
    room<Attempts>(context, 0) = in;
    millrace_send(context, 0);
    return 0;
  }

 private:
  int64_t span_;
};

// Merges the suspects of all windows. Port 0 goes to the writer, port 1 to the join, which also
// gets the time that all windows have reached, and no suspect that is late.
class Suspects : public LeavesOut {
 public:
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    const Attempts& in = *static_cast<const Attempts*>(tuple);
    if (port > 2) return WRONG_PORT;
    if (in.count > 0) {
      const bool late = in.time < reached_[port];
      if (late) left_out_.add_record(Left::LATE, Example::UNKNOWN, in.rhost.view());
      for (uint32_t output = 0; output < (late ? 1U : 2U); ++output) {
        room<Attempts>(context, output) = in;
        millrace_send(context, output);
      }
      return 0;
    }
    reached_[port] = in.time;
    const int64_t all = std::min({reached_[0], reached_[1], reached_[2]});
    if (all <= sent_) return 0;
    sent_ = all;
    room<Attempts>(context, 1) = in;
    room<Attempts>(context, 1).time = all;
    millrace_send(context, 1);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return left_out_[Left::LATE]; }

 private:
  std::array<int64_t, 3> reached_{INT64_MIN, INT64_MIN, INT64_MIN};  // times of the windows
  int64_t sent_ = INT64_MIN;                                         // last time sent to the join
};

// Passes sessions that were opened and are not late; from time to time also a log line without a
// message, for its time.
class SuccessesOnly : public LeavesOut {
 public:
  explicit SuccessesOnly(const EventTime::Rule& rule) : clock_(rule) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    clock_.watch(in.time);
    if (holds(in.service.view(), "sshd") && holds(in.message.view(), SESSION_OPENED)) {
      if (in.time < sent_) {
        left_out_.add_record(Left::LATE, in.number, in.message.view());
        return 0;
      }
      room<Log>(context, 0) = in;
      millrace_send(context, 0);
      return 0;
    }
    if (++others_ % MARK_EVERY != 0) return 0;
    Log& out = room<Log>(context, 0);
    out = in;
    out.time = sent_ = clock_.passed();
    out.message.set({}, nullptr);
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return left_out_[Left::LATE]; }

 private:
  EventTime clock_;
  int64_t sent_ = INT64_MIN;  // last time sent
  uint64_t others_ = 0;
};

// Parses `session opened for user NAME by (uid=0)`.
class ParseSuccess : public LeavesOut {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    Success& out = room<Success>(context, 0);
    std::string_view user;
    if (in.message.length > 0) {
      const std::string_view message = in.message.view();
      user = message.substr(message.find(SESSION_OPENED) + SESSION_OPENED.size());
      user = user.substr(0, user.find_first_of(" ("));
      if (user.empty() || user.size() > MOST_NAME) {
        left_out_.add_record(Left::BROKEN, in.number, message);
        return 0;
      }
    }
    out.time = in.time;
    names_.set(&out.user, user);
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return left_out_[Left::BROKEN]; }

 private:
  LongNames names_;
};

// Joins suspects (port 0) and sessions (port 1) of a user that are less than WITHIN apart. Tuples
// that carry only a time say how far each side has come, so that the other side can forget tuples.
class BreakIns : public Operator {
 public:
  static constexpr int64_t WITHIN = 60 * SECOND;
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    if (port == 0) {
      const Attempts& in = *static_cast<const Attempts*>(tuple);
      if (in.count == 0) {
        go_on(0, in.time);
        return 0;
      }
      sessions_.each(in.user.view(),
                     [&](int64_t opened, const void*) { return match(context, in, opened); });
      return suspects_.keep(in.user.view(), in.time, tuple, ahead(0, in.time));
    }
    const Success& in = *static_cast<const Success*>(tuple);
    if (in.user.length == 0) {
      go_on(1, in.time);
      return 0;
    }
    suspects_.each(in.user.view(), [&](int64_t, const void* suspect) {
      return match(context, *static_cast<const Attempts*>(suspect), in.time);
    });
    return sessions_.keep(in.user.view(), in.time, tuple, ahead(1, in.time));
  }
  // Tuples that a side keeps.
  uint64_t counted(uint32_t side) const noexcept override {
    return (side == 0 ? suspects_ : sessions_).size();
  }

 private:
  // A side of the join. Tuples far ahead of time are kept apart: they must not hold up others.
  struct Side {
    JoinSide near, far;
    explicit Side(size_t bytes) : near(bytes), far(bytes) {}
    template <class F>
    void each(std::string_view user, F&& f) {
      near.each(user, f);
      far.each(user, f);
    }
    int32_t keep(std::string_view user, int64_t time, const void* tuple, bool ahead) {
      return (ahead ? far : near).keep(user, time, tuple);
    }
    void forget(int64_t time) {
      near.forget(time);
      far.forget(time);
    }
    size_t size() const noexcept { return near.size() + far.size(); }
  };
  bool ahead(uint32_t port, int64_t time) const noexcept { return time - DAY > reached_[port]; }
  void go_on(uint32_t port, int64_t time) {
    reached_[port] = time;
    (port == 0 ? sessions_ : suspects_).forget(time - WITHIN);
  }
  static bool match(millrace_context* context, const Attempts& suspect, int64_t opened) {
    const int64_t apart = opened > suspect.time ? opened - suspect.time : suspect.time - opened;
    if (apart >= WITHIN) return false;
    BreakIn& out = room<BreakIn>(context, 0);
    out.suspected = suspect.time;
    out.opened = opened;
    out.window = suspect.window;
    out.rhost = suspect.rhost;
    out.user = suspect.user;
    millrace_send(context, 0);
    return true;
  }
  Side suspects_{sizeof(Attempts)}, sessions_{sizeof(Success)};
  std::array<int64_t, 2> reached_{EventTime::NEVER, EventTime::NEVER};
};

}  // namespace millrace::applications
