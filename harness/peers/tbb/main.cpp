// A graph in oneTBB: as a flow graph (first argument `graph`), or as a parallel pipeline
// (`pipeline`).
//
// What it is told and what it answers: harness/peers/plan.py and harness/peers/program.py.
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
  peer::Run run(plan);
  const int tokens = is_pipeline ? peer::pipeline_tokens(plan) : peer::graph_tokens(plan);
  answer("ready", "\"threads\":" + std::to_string(oneapi::tbb::this_task_arena::max_concurrency()) +
                      ",\"capacity\":" + std::to_string(tokens));
  std::future<void> running;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "start") {
      run.begin();
      // The thread that waits for a graph executes it, too: one that this one does not share with
      // it.
      running = std::async(std::launch::async, [&] {
        is_pipeline ? peer::run_pipeline(plan, run, tokens) : peer::run_graph(plan, run, tokens);
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
