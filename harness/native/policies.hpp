// policies.hpp - which of the ready co-routines runs next: scores, of which the highest wins, and
// ties are broken by chance.
//
// Five as C-Stream prints them (Sahin and Gedik, TOPC 4(3), 2018, s3.2.6), three of others, and
// users' own. A policy sees what s3.2.6 lists, and what the three need (millrace_ready).
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace.h"

namespace millrace {

// What a policy looks at besides what is always there. Nothing else is computed for it.
enum Looks : uint32_t { TIMES = 1, RATES = 2, BEHIND = 4, GAIN = 8, PORTS = 16, ALL_LOOKS = 31 };

using Seen = millrace_ready;  // what is not looked at is 0
using SeenPort = millrace_port;

// Of one that is ready. One of ours is called under the scheduler's lock, and on any stack.
using Score = double (*)(const Seen* seen, void* state);

// The same of `count` at once, on the stack of a thread and without the lock: for users' functions,
// which may wait, or never return.
using Judge = void (*)(const Seen* seen, size_t count, double* scores, void* state);

// Whether one that runs is to let others run: above 0: it is; below 0: the run has to fail. Called
// on the stack of a thread: for users' functions.
using Preempts = int32_t (*)(const Seen* running, void* state);

struct Policy {
  const char* name;
  const char* meaning;  // for users, one line
  Score score;          // null: chance alone decides, and nothing is looked at; or `judge` does
  uint32_t looks;       // of Looks: what the score needs
  // tuples, a batch at most, that it waits for where others are ready: a turn for less is not worth
  // the switch
  uint64_t floor;
  // the score of a co-routine may rise while it is ready, so all that are ready are asked about at
  // each pick
  bool rises = true;
  Judge judge = nullptr;        // in place of `score`
  void* state = nullptr;        // what they get
  Preempts preempts = nullptr;  // null: the quantum decides
  void* preempts_state = nullptr;
};

// A user's compiled function, as the state of `judge_each`.
struct UsersScore {
  Score score;
  void* state;
};
inline void judge_each(const Seen* seen, size_t count, double* scores, void* users) {
  const UsersScore& own = *static_cast<const UsersScore*>(users);
  for (size_t i = 0; i < count; ++i) scores[i] = own.score(&seen[i], own.state);
}

namespace policies {

// Of a source, what it would send is younger than all that waits, and brings least for its work: it
// goes on where nothing else can.
inline constexpr double LAST = -1e300;

inline double max_queue_length(const Seen* seen, void*) {
  return seen->source ? 1e300 : static_cast<double>(seen->queued);
}
inline double min_latency(const Seen* seen, void*) {
  return -static_cast<double>(seen->source ? seen->scheduled_ns : seen->enqueued_ns);
}
inline double least_recently_run(const Seen* seen, void*) {
  return -static_cast<double>(seen->scheduled_ns);
}
inline double max_running_time(const Seen* seen, void*) {
  constexpr double for_ever = 1e300;
  const double reading = seen->source || seen->reads_per_s <= 0.0
                             ? for_ever
                             : static_cast<double>(seen->queued) / seen->reads_per_s;
  const double writing =
      seen->writes_per_s <= 0.0 ? for_ever : static_cast<double>(seen->room) / seen->writes_per_s;
  return reading < writing ? reading : writing;
}
inline double highest_rate(const Seen* seen, void*) {
  return seen->source ? LAST : seen->gain_per_s;
}
inline double oldest_source(const Seen* seen, void*) {
  return seen->source ? LAST : -static_cast<double>(seen->born_ns);
}
inline double pressure(const Seen* seen, void*) {
  return static_cast<double>(seen->source ? seen->room : seen->queued) -
         static_cast<double>(seen->queued_behind);
}

}  // namespace policies

inline constexpr Policy POLICIES[] = {
    {"random", "any ready operator, by chance", nullptr, 0, 0},
    {"max_queue_length", "the operator with the longest input queue; sources come first",
     policies::max_queue_length, 0, 0},
    {"min_latency", "the operator whose oldest tuple has waited longest in its queue",
     policies::min_latency, TIMES, 0, false},
    {"least_recently_run", "the operator that was scheduled longest ago",
     policies::least_recently_run, 0, 0, false},
    {"max_running_time",
     "the operator that can run longest until its input is empty or its output full",
     policies::max_running_time, RATES | BEHIND, 0},
    {"highest_rate", "the operator that brings most tuples to a sink for its work",
     policies::highest_rate, GAIN, 32},
    {"oldest_source", "the operator whose oldest tuple left its source first",
     policies::oldest_source, TIMES, 32},
    {"pressure", "the operator with the most tuples before it less those behind it",
     policies::pressure, BEHIND, 32},
};
inline constexpr size_t POLICY_COUNT = sizeof POLICIES / sizeof *POLICIES;

}  // namespace millrace
