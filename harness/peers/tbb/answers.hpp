// answers.hpp - what the program tells of a run; harness/peers/counts.py says how. Nothing here
// needs oneTBB.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "run.hpp"

namespace peer {

// A number of each operator.
template <typename Of>
std::string list(const Run& run, Of&& of) {
  std::ostringstream out;
  for (size_t i = 0; i < run.tallies.size(); ++i)
    out << (i > 0 ? "," : "") << static_cast<uint64_t>(of(i));
  return "[" + out.str() + "]";
}

inline std::string counts(const Run& run) {
  std::ostringstream latency, out;
  uint64_t longest = 0;
  std::vector<uint64_t> sums(millrace::Histogram::BUCKETS);
  for (const auto& tally : run.tallies) tally->latency.add_to(sums.data());
  for (size_t bucket = 0; bucket < sums.size(); ++bucket) {
    if (sums[bucket] > 0)
      latency << (latency.tellp() > 0 ? "," : "") << bucket << "," << sums[bucket];
  }
  for (const auto& tally : run.tallies) longest = std::max(longest, tally->latency.longest());
  const int64_t ended = run.ended.load(std::memory_order_acquire);
  out << "\"ns\":" << (ended > 0 ? ended : run.now())
      << ",\"executed\":" << list(run, [&](size_t i) { return run.executed(i); })
      << ",\"latency\":[" << latency.str() << "],\"longest\":" << longest
      << ",\"finished\":" << (ended > 0 ? "true" : "false");
  return out.str();
}

inline std::string totals(const Run& run) {
  std::ostringstream out;
  uint64_t out_of_order = 0, harmed = 0, left = 0;
  for (const auto& tally : run.tallies) {
    out_of_order += tally->out_of_order;
    harmed += tally->harmed;
    left += tally->left;
  }
  out << counts(run) << ",\"drained\":" << (left == 0 ? "true" : "false")
      << ",\"left\":" << list(run, [&](size_t i) { return run.tallies[i]->left.load(); })
      << ",\"sums\":" << list(run, [&](size_t i) { return run.tallies[i]->sum.load(); })
      << ",\"out_of_order\":" << out_of_order << ",\"harmed\":" << harmed
      << ",\"ns_per_flop\":" << ns_per_flop();
  return out.str();
}

}  // namespace peer
