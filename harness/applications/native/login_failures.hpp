// login_failures.hpp - the operators of LoginFailures (P17 Figure 1; the larger form after its
// public parent, streamsx.demo.logwatch).
//
// Times never go back behind the sequencer, so that windows of time mean the same whatever the file
// says.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "join.hpp"
#include "lines.hpp"
#include "operator.hpp"
#include "syslog.hpp"
#include "windows.hpp"

namespace millrace::applications {

using namespace operators;

struct Line {
  uint64_t number;
  int64_t shift;  // of its time [ns]: the input is gone through again and again
  Text<204> text;
};
struct Log {
  int64_t time;
  uint64_t number;
  Text<32> host;  // empty: a line that could not be read
  Text<32> service;
  Text<196> message;  // empty: only the time counts
};
struct Failure {
  int64_t time;
  uint64_t number;
  Text<12> uid;
  Text<12> euid;
  Text<20> tty;
  Text<64> rhost;
  Text<32> user;
  bool only_time() const noexcept {
    return rhost.length + user.length + uid.length + tty.length == 0;
  }
};
struct Attempts {
  int64_t time;    // of the last one
  int64_t span;    // from the first to the last [ns]
  uint32_t count;  // 0: only the time counts
  uint32_t window;
  Text<64> rhost;
  Text<32> user;  // of the last one
};
struct Success {
  int64_t time;
  Text<32> user;  // empty: only the time counts
};
struct BreakIn {
  int64_t suspected;
  int64_t opened;
  uint32_t window;
  Text<64> rhost;
  Text<32> user;
};
static_assert(sizeof(Line) == 224 && sizeof(Log) == 288 && sizeof(Failure) == 176,
              "no holes: equal values are equal bytes");
static_assert(sizeof(Attempts) == 128 && sizeof(Success) == 48 && sizeof(BreakIn) == 128,
              "nor here");

// -- source ---------------------------------------------------------------------------------------

inline bool time_of_log(std::string_view text, int64_t* time, bool* dated) noexcept {
  LogLine line;
  if (!parse_log(text, &line)) return false;
  *time = line.time;
  *dated = line.dated;
  return true;
}

using Lines = TimedLines<Line, time_of_log>;

// To its output ports in turn: what a split does, as an operator.
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

// Lines to log lines. What cannot be read is counted; with `keep` it goes on as an empty one, so
// that its number is not missed.
class Parse : public Operator {
 public:
  explicit Parse(bool keep) : keep_(keep) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Line& in = *static_cast<const Line*>(tuple);
    Log& out = room<Log>(context, 0);
    LogLine line;
    if (parse_log(in.text.view(), &line) && out.host.fits(line.host) &&
        out.service.fits(line.service) && out.message.fits(line.message)) {
      out.time = line.time + in.shift;
      out.host.set(line.host);
      out.service.set(line.service);
      out.message.set(line.message);
    } else {
      ++broken_;
      if (!keep_) return 0;
      out.time = 0;
      out.host.set({});
      out.service.set({});
      out.message.set({});
    }
    out.number = in.number;
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return broken_; }

 private:
  bool keep_;
  uint64_t broken_ = 0;
};

class LogSequencer : public Sequencer<Log> {
 protected:
  int32_t pass(millrace_context* context, const Log& tuple) override {
    if (tuple.host.length == 0) return 0;
    Log& out = room<Log>(context, 0);
    out = tuple;
    last_ = out.time = out.time > last_ ? out.time : last_;
    millrace_send(context, 0);
    return 0;
  }

 private:
  int64_t last_ = INT64_MIN;
};

// Numbers failures anew, since what carries only a time has had numbers, too. Port 0 gets failures
// alone, port 1 both.
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

inline bool holds(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

inline constexpr uint32_t MARK_EVERY =
    256;  // tuples after which an operator tells how far its time has come

// Failed logins, to its output ports in turn; with `marks` from time to time a log line without a
// message, for its time.
class FailuresOnly : public InTurn<Log> {
 public:
  FailuresOnly(uint32_t outputs, bool marks) : InTurn<Log>(outputs), marks_(marks) {}
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    if (holds(in.service.view(), "sshd") && holds(in.message.view(), "authentication failure"))
      InTurn<Log>::process(context, port, tuple);
    if (!marks_ || ++seen_ % MARK_EVERY != 0) return 0;
    Log mark = in;
    mark.message.set({});
    return InTurn<Log>::process(context, port, &mark);
  }

 private:
  bool marks_;
  uint64_t seen_ = 0;
};

// Numbers what comes 0, 1, 2, ..., to its output ports in turn.
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

// `authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=HOST  user=NAME`: parts
// divided by ";", names and values by "=".
class ParseFailure : public Operator {
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
             out.euid.fits(euid) && out.tty.fits(tty) && out.rhost.fits(rhost) &&
             out.user.fits(user);
    }
    if (!read) {
      broken_ += message.size() > 0;
      if (!keep_) return 0;
      uid = euid = tty = rhost = user = {};
    }
    out.time = in.time;
    out.number = in.number;
    out.uid.set(uid);
    out.euid.set(euid);
    out.tty.set(tty);
    out.rhost.set(rhost);
    out.user.set(user);
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return broken_; }

 private:
  bool keep_;
  uint64_t broken_ = 0;
};

// -- suspects and break-ins -----------------------------------------------------------------------

// Of each remote host, every `count` failures: when the first and the last of them were. A tumbling
// window by count.
class CountAttempts : public Operator {
 public:
  CountAttempts(uint32_t count, uint32_t window) : window_(window), windows_({}, count, count) {}
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Failure& in = *static_cast<const Failure*>(tuple);
    if (in.only_time()) {
      send(context, in.time, 0, 0, {}, {});
      return 0;
    }
    return windows_.add(
        in.rhost.view(), tuple, [&](const char* state, const millrace_window& window) {
          const int64_t first = reinterpret_cast<const First*>(state)->time;
          send(context, in.time, in.time - first, static_cast<uint32_t>(window.count),
               in.rhost.view(), in.user.view());
          return 0;
        });
  }

 private:
  struct First {
    int64_t time;
    void add(const Failure& failure, uint64_t count) noexcept {
      if (count == 0) time = failure.time;
    }
    void combine(const First&) noexcept {}
  };
  void send(millrace_context* context, int64_t time, int64_t span, uint32_t count,
            std::string_view rhost, std::string_view user) {
    Attempts& out = room<Attempts>(context, 0);
    out.time = time;
    out.span = span;
    out.count = count;
    out.window = window_;
    out.rhost.set(rhost);
    out.user.set(user);
    millrace_send(context, 0);
  }
  uint32_t window_;
  CountWindows<TypedFold<First, Failure>> windows_;
};

// Those that came within `span` nanoseconds.
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

// The suspects of all windows: port 0 to the writer, port 1 to the join. There it tells how far the
// time of all of them has come.
class Suspects : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    const Attempts& in = *static_cast<const Attempts*>(tuple);
    if (port > 2) return WRONG_PORT;
    if (in.count > 0) {
      for (const uint32_t output : {0U, 1U}) {
        room<Attempts>(context, output) = in;
        millrace_send(context, output);
      }
      return 0;
    }
    reached_[port] = in.time;
    const int64_t all = std::min({reached_[0], reached_[1], reached_[2]});
    if (all <= told_) return 0;
    told_ = all;
    room<Attempts>(context, 1) = in;
    room<Attempts>(context, 1).time = all;
    millrace_send(context, 1);
    return 0;
  }

 private:
  std::array<int64_t, 3> reached_{INT64_MIN, INT64_MIN, INT64_MIN};
  int64_t told_ = INT64_MIN;
};

// Sessions that were opened; from time to time a log line without a message, for its time.
class SuccessesOnly : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    const Log& in = *static_cast<const Log*>(tuple);
    const bool success =
        holds(in.service.view(), "sshd") && holds(in.message.view(), "session opened for user ");
    if (!success && ++others_ % MARK_EVERY != 0) return 0;
    Log& out = room<Log>(context, 0);
    out = in;
    if (!success) out.message.set({});
    millrace_send(context, 0);
    return 0;
  }

 private:
  uint64_t others_ = 0;
};

// `session opened for user NAME by (uid=0)`
class ParseSuccess : public Operator {
 public:
  int32_t process(millrace_context* context, uint32_t, const void* tuple) override {
    static constexpr std::string_view BEFORE = "session opened for user ";
    const Log& in = *static_cast<const Log*>(tuple);
    Success& out = room<Success>(context, 0);
    std::string_view user;
    if (in.message.length > 0) {
      const std::string_view message = in.message.view();
      user = message.substr(message.find(BEFORE) + BEFORE.size());
      user = user.substr(0, user.find_first_of(" ("));
      if (user.empty() || !out.user.fits(user)) {
        ++broken_;
        return 0;
      }
    }
    out.time = in.time;
    out.user.set(user);
    millrace_send(context, 0);
    return 0;
  }
  uint64_t counted(uint32_t) const noexcept override { return broken_; }

 private:
  uint64_t broken_ = 0;
};

// Suspects (port 0) and sessions (port 1) of a user that are less than WITHIN apart: a join by key.
// Tuples that carry only a time tell how far each side has come, so that the other side can forget.
class BreakIns : public Operator {
 public:
  static constexpr int64_t WITHIN = 60 * SECOND;
  int32_t process(millrace_context* context, uint32_t port, const void* tuple) override {
    if (port == 0) {
      const Attempts& in = *static_cast<const Attempts*>(tuple);
      if (in.count == 0) {
        sessions_.forget(in.time - WITHIN);
        return 0;
      }
      sessions_.each(in.user.view(),
                     [&](int64_t opened, const void*) { match(context, in, opened); });
      return suspects_.keep(in.user.view(), in.time, tuple);
    }
    const Success& in = *static_cast<const Success*>(tuple);
    suspects_.forget(in.time - WITHIN);
    if (in.user.length == 0) return 0;
    suspects_.each(in.user.view(), [&](int64_t, const void* suspect) {
      match(context, *static_cast<const Attempts*>(suspect), in.time);
    });
    return sessions_.keep(in.user.view(), in.time, tuple);
  }
  uint64_t counted(uint32_t side) const noexcept override {
    return (side == 0 ? suspects_ : sessions_).size();
  }  // that are kept

 private:
  static void match(millrace_context* context, const Attempts& suspect, int64_t opened) {
    const int64_t apart = opened > suspect.time ? opened - suspect.time : suspect.time - opened;
    if (apart >= WITHIN) return;
    BreakIn& out = room<BreakIn>(context, 0);
    out.suspected = suspect.time;
    out.opened = opened;
    out.window = suspect.window;
    out.rhost = suspect.rhost;
    out.user = suspect.user;
    millrace_send(context, 0);
  }
  JoinSide suspects_{sizeof(Attempts)};
  JoinSide sessions_{sizeof(Success)};
};

}  // namespace millrace::applications
