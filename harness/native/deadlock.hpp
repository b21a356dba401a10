// deadlock.hpp - description of a deadlock of co-routines (coroutines.hpp), in one line for the
// user.
//
// Each co-routine waits for another one: for tuples, those that send to the port; for room, the one
// that reads from it. So some of them form a cycle, which the line describes. Nothing moves any
// more, so all records may be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coroutines.hpp"

namespace millrace {

// `name(co)`: of its operator. `input(port)`: its number among the input ports of the operator that
// reads from it, whose name is `owner(port)`.
template <class All, class Graph, class Name, class Input, class Owner>
std::string who_waits(All& all, const Graph& graph, Name name, Input input, Owner owner) {
  constexpr size_t MOST_TOLD = 6;
  const auto state = [&](uint32_t co) { return all[co].state.load(std::memory_order_acquire); };
  std::vector<std::string> told;
  std::vector<uint32_t> way;
  const auto was_told = [&](uint32_t co) {
    return std::find(way.begin(), way.end(), co) != way.end();
  };
  const auto another = [&] {  // first one that waits for room: it has come further
    for (const CoState wanted : {CoState::WRITE_BLOCKED, CoState::READ_BLOCKED}) {
      for (uint32_t co = 0; co < all.count(); ++co) {
        if (state(co) == wanted && !was_told(co)) return co;
      }
    }
    return NO_CO;
  };
  size_t began = 0;  // where the way began that it is on
  uint32_t next = another();
  while (next != NO_CO && !was_told(next)) {
    auto& co = all[next];
    way.push_back(next);
    next = NO_CO;
    std::string what = "waits for its turn";
    if (state(co.index) == CoState::WRITE_BLOCKED) {
      const uint32_t port = co.lacks[0].load(std::memory_order_relaxed);
      what = "waits for what others give back";
      if (port != All::OTHER) {
        what = "waits for room in the queue before input port " + std::to_string(input(port)) +
               " of operator '" + owner(port) + "'";
        next = graph.reader(port);
      }
    } else if (co.may == nullptr) {
      for (size_t i = 0; i < co.inputs.size(); ++i) {
        const uint32_t port = co.inputs[i], need = co.need[i].load(std::memory_order_relaxed);
        if (need == 0 || graph.size(port) >= need || graph.closed(port)) continue;
        what = "waits for tuples at input port " + std::to_string(input(port));
        for (const uint32_t writer : graph.writers(port)) {
          if (state(writer) != CoState::COMPLETED) next = writer;
        }
        break;
      }
    }
    told.push_back("operator '" + name(co.index) + "' " + what);
    const auto again = std::find(way.begin(), way.end(), next) - way.begin();
    if (again >= static_cast<std::ptrdiff_t>(began) &&
        again < static_cast<std::ptrdiff_t>(way.size())) {  // it has come round
      told.erase(told.begin(), told.begin() + again);
    } else if (next == NO_CO || was_told(next)) {
      began = way.size();
      next = told.size() <= MOST_TOLD ? another() : NO_CO;
    }
  }
  std::string text = "deadlock: ";
  for (size_t i = 0; i < std::min(told.size(), MOST_TOLD); ++i)
    text += (i > 0 ? ", " : "") + told[i];
  if (told.size() > MOST_TOLD)
    text += ", and " + std::to_string(told.size() - MOST_TOLD) + " more wait";
  return text;
}

}  // namespace millrace
