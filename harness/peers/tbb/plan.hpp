// plan.hpp - the graph that a program is told; harness/peers/plan.py says how.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace peer {

struct Stream {
  size_t target;
  uint32_t step;  // added to a tuple's path
};

enum class Kind { SOURCE, WORK, SINK };

struct Operator {
  Kind kind;
  uint32_t cost;
  int64_t busy_ns;
  double gap_ns = 0.0;  // from one tuple of a source to the next; 0: full speed
  std::vector<std::vector<Stream>> ports;
};

struct Plan {
  std::vector<Operator> operators;
  size_t payload = 0;
  size_t batch = 1;
  int64_t limit = -1;
};

[[noreturn]] inline void refuse(const std::string& why) {
  std::cerr << why << std::endl;
  std::exit(2);
}

inline Kind kind_of(const std::string& word) {
  return word == "source" ? Kind::SOURCE : word == "sink" ? Kind::SINK : Kind::WORK;
}

inline Plan read_plan(const char* file) {
  Plan plan;
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    if (word == "payload") {
      lines >> plan.payload;
    } else if (word == "tuples") {
      lines >> plan.limit;
    } else if (word == "batch") {
      lines >> plan.batch;
    } else if (word == "gap") {
      size_t source;
      lines >> source;
      lines >> plan.operators.at(source).gap_ns;
    } else if (word == "operator") {
      Operator made;
      size_t ports;
      lines >> word >> made.cost >> made.busy_ns >> ports;
      made.kind = kind_of(word);
      made.ports.resize(ports);
      plan.operators.push_back(made);
    } else if (word == "stream") {
      size_t source, port;
      Stream stream;
      lines >> source >> port >> stream.target >> stream.step;
      plan.operators.at(source).ports.at(port).push_back(stream);
    } else if (word == "capacity") {
      lines >> word;  // no queues of ours
    } else {
      refuse("not a word of a plan: " + word);
    }
  }
  return plan;
}

}  // namespace peer
