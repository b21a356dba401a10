// A graph in oneTBB: as a flow graph (first argument `graph`), or as a parallel pipeline (`pipeline`).
//
// What it is told and what it answers: harness/peers/plan.py and harness/peers/program.py.
#include <algorithm>
#include <cstring>
#include <future>
#include <iostream>
#include <sstream>
#include <string>

#include "flow_graph.hpp"
#include "pipeline.hpp"
#include "plan.hpp"
#include "run.hpp"

namespace {

template <typename Number, typename Of>
std::string list(const peer::Run& run, Of&& of) {
  std::ostringstream out;
  for (const auto& tally : run.tallies) out << (out.tellp() > 0 ? "," : "") << static_cast<Number>(of(*tally));
  return "[" + out.str() + "]";
}

std::string counts(const peer::Run& run) {
  std::ostringstream latency, out;
  uint64_t longest = 0;
  for (int bucket = 0; bucket < millrace::Histogram::BUCKETS; ++bucket) {
    uint64_t count = 0;
    for (const auto& tally : run.tallies) count += tally->latency.count(bucket);
    if (count > 0) latency << (latency.tellp() > 0 ? "," : "") << bucket << "," << count;
  }
  for (const auto& tally : run.tallies) longest = std::max(longest, tally->latency.longest());
  const int64_t ended = run.ended.load(std::memory_order_acquire);
  out << "\"ns\":" << (ended > 0 ? ended : run.now())
      << ",\"executed\":" << list<uint64_t>(run, [](const auto& tally) { return tally.executed.load(std::memory_order_relaxed); })
      << ",\"latency\":[" << latency.str() << "],\"longest\":" << longest << ",\"finished\":" << (ended > 0 ? "true" : "false");
  return out.str();
}

std::string totals(const peer::Run& run) {
  std::ostringstream out;
  uint64_t out_of_order = 0, harmed = 0, left = 0;
  for (const auto& tally : run.tallies) {
    out_of_order += tally->out_of_order;
    harmed += tally->harmed;
    left += tally->left;
  }
  out << counts(run) << ",\"drained\":" << (left == 0 ? "true" : "false")
      << ",\"left\":" << list<uint64_t>(run, [](const auto& tally) { return tally.left.load(); })
      << ",\"sums\":" << list<uint64_t>(run, [](const auto& tally) { return tally.sum.load(); }) << ",\"out_of_order\":" << out_of_order
      << ",\"harmed\":" << harmed << ",\"ns_per_flop\":" << peer::ns_per_flop();
  return out.str();
}

void answer(const std::string& word, const std::string& told) { std::cout << "{\"" << word << "\":{" << told << "}}" << std::endl; }

}  // namespace

int main(int, char** words) {
  const bool is_pipeline = std::strcmp(words[1], "pipeline") == 0;
  const peer::Plan plan = peer::read_plan(words[2]);
  peer::Run run(plan);
  const int tokens = is_pipeline ? peer::pipeline_tokens(plan) : peer::graph_tokens(plan);
  answer("ready",
         "\"threads\":" + std::to_string(oneapi::tbb::this_task_arena::max_concurrency()) + ",\"capacity\":" + std::to_string(tokens));
  std::future<void> running;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "start") {
      run.begin();
      // The thread that waits for a graph executes it, too: one that this one does not share with it.
      running = std::async(std::launch::async, [&] {
        is_pipeline ? peer::run_pipeline(plan, run, tokens) : peer::run_graph(plan, run, tokens);
        run.ended.store(run.now(), std::memory_order_release);
      });
      answer("started", "");
    } else if (line == "sample") {
      answer("sample", counts(run));
    } else {
      run.stopping.store(true);
      if (running.wait_for(std::chrono::milliseconds(std::stoll(line.substr(std::strlen("stop "))))) != std::future_status::ready) {
        run.cut.store(true);
      }
      running.get();
      answer("totals", totals(run));
      return 0;
    }
  }
  std::quick_exit(1);
}
