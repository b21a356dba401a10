// software.hpp - what the steps of a stream runtime cost, and where runtimes differ. Sources:
// config/software/*.yaml.
//
// Costs are for a core alone at its highest clock [ps], with all lines in its own cache: transfers,
// copies of slots and the multiplies themselves come on top, from the machine.
#pragma once

#include <cstdint>

#include "calendar.hpp"

namespace millrace::sim {

struct Software {
  uint32_t batch = 32;  // tuples that are handed over and published at once, at most
  // The scheduler as P17 prints it: every free port is on the list, which is walked; an idle thread
  // waits for a time that grows, and nobody wakes it; flags are never left out. Else as it is here:
  // ports with tuples are on the list, and an idle thread sleeps until there is one.
  bool printed = false;
  // When a drain ends besides when the queue is empty: never; or, of a queueful, after two tuples
  // more than it has slots; else as the plan says.
  bool whole_queue = false, queueful = false;
  Time back_off_first = NANOSECOND, back_off_most = 10 * MILLISECOND;
  uint32_t back_off_factor = 10;
  // Multiplies of a tuple that begin before the previous tuple is done, where each is handed over
  // alone.
  uint32_t ahead = 0;
  // Multiplies of neighbouring tuples at a time, below SERIAL_FLOP, in 1/1024.
  uint32_t overlap = 1024;
  uint64_t clock = 0, source_batch = 0, source_tuple = 0, source_byte = 0, call_batch = 0,
           call_tuple = 0, push_batch = 0, push_tuple = 0, take_batch = 0;
  uint64_t drain = 0, list_push = 0, list_pop = 0, flag = 0, lock = 0, way = 0, way_tuple = 0,
           sink_batch = 0, sink_tuple = 0, sink_byte = 0;
  uint64_t key_tuple = 0, filter_tuple = 0, filter_run = 0, filter_cut = 0, merge_tuple = 0,
           search = 0, wait_round = 0, mark = 0;
  // of co-routines of operators (coroutines.hpp)
  uint64_t fence = 0, coroutine_switch = 0, coroutine_turn = 0, coroutine_wait = 0,
           coroutine_look = 0;
};

}  // namespace millrace::sim
