// A graph in oneTBB: as a flow graph (first argument `graph`), or as a parallel pipeline
// (`pipeline`). Pointers to tuples are handed on, or to blocks of them.
//
// What it is told and what it answers: harness/peers/plan.py and harness/peers/program.py.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <iostream>
#include <string>

#include "answers.hpp"
#include "flow_graph.hpp"
#include "pipeline.hpp"
#include "plan.hpp"
#include "run.hpp"

namespace {

void answer(const std::string& word, const std::string& told) {
  std::cout << "{\"" << word << "\":{" << told << "}}" << std::endl;
}

}  // namespace

int main(int, char** words) {
  const bool is_pipeline = std::strcmp(words[1], "pipeline") == 0;
  const peer::Plan plan = peer::read_plan(words[2]);
  const int tokens = is_pipeline ? peer::pipeline_tokens(plan) : peer::graph_tokens(plan);
  // A source with a rate sleeps in a thread that then executes nothing else.
  const auto sleeping =
      static_cast<int>(std::count_if(plan.operators.begin(), plan.operators.end(),
                                     [](const peer::Operator& op) { return op.gap_ns > 0.0; }));
  const int threads = oneapi::tbb::this_task_arena::max_concurrency() + sleeping;
  oneapi::tbb::global_control most(oneapi::tbb::global_control::max_allowed_parallelism,
                                   static_cast<size_t>(threads));
  oneapi::tbb::task_arena arena(threads);
  peer::Run run(plan, static_cast<size_t>(threads));
  answer("ready", "\"threads\":" + std::to_string(threads) +
                      ",\"capacity\":" + std::to_string(tokens * plan.batch));
  std::future<void> running;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "start") {
      run.begin();
      // The thread that waits for a graph executes it, too: one that this one does not share with
      // it.
      running = std::async(std::launch::async, [&] {
        arena.execute(
            [&] { is_pipeline ? peer::run_pipeline(run, tokens) : peer::run_graph(run, tokens); });
        run.ended.store(run.now(), std::memory_order_release);
      });
      answer("started", "");
    } else if (line == "sample") {
      answer("sample", peer::counts(run));
    } else {
      run.stopping.store(true);
      if (running.wait_for(std::chrono::milliseconds(
              std::stoll(line.substr(std::strlen("stop "))))) != std::future_status::ready) {
        run.cut.store(true);
      }
      running.get();
      answer("totals", peer::totals(run));
      return 0;
    }
  }
  std::quick_exit(1);
}
