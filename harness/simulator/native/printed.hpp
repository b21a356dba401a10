// printed.hpp - the scheduler threads of P17 Figures 4 to 6, as printed: every port that no thread
// holds is on the list, with tuples or without, and an idle thread walks the list, then comes back
// after a time. The queues, drains and sends are those of the runtime (dynamic.hpp there).
#pragma once

#include "primitives.hpp"

namespace millrace::sim {

// Figure 5: findWorkBlocking and findWorkNonBlocking.
inline Port* walk(Worker* w) {
  Simulation& simulation = *w->run;
  const Software& software = simulation.software;
  ReadyPorts& list = *simulation.ready;
  Time delay = software.back_off_first;
  while (!simulation.over) {
    w->searches.add(1);
    if (w->suspended != 0) {
      w->idle.stop();
      SimPath::suspend(w);
    }
    simulation.pass(*w);
    uint32_t first = ReadyPorts::NONE;
    for (;;) {
      const uint32_t index = list.pop();
      if (index == ReadyPorts::NONE || simulation.over) break;
      Port& port = simulation.ports[index];
      if (port.consuming.try_lock()) {
        simulation.look(*w, port.ring.tail_line);
        if (port.ring.size() > 0) {
          w->idle.stop();
          return &port;
        }
        port.consuming.unlock();
      }
      w->mixed += software.search;
      simulation.pass(*w);
      list.push(index);
      simulation.pass(*w);
      if (index == first) break;
      if (first == ReadyPorts::NONE) first = index;
    }
    w->idle.start();
    w->waits.add(1);
    simulation.pass(*w);
    SimPath::turn_to(w, Activity::TUPLES);
    w->rest = IDLE;
    simulation.system.sleep(*w, simulation.system.now + delay + simulation.machine.timer_slack);
    SimPath::turn_to(w, Activity::SEARCH);
    w->rest = AWAKE;
    if (delay < software.back_off_most) delay *= software.back_off_factor;
  }
  w->idle.stop();
  return nullptr;
}

// Figure 4.
inline void* printed_body(void* worker) {
  auto* w = static_cast<Worker*>(worker);
  SimPath::turn_to(w, Activity::SEARCH);
  while (Port* port = walk(w)) {
    w->drains.add(1);
    SimPlatform::drains(w, port);
    SimPath::drain(w, port, w->run->software.whole_queue ? UINT64_MAX : uint64_t{port->most}, true);
    w->run->pass(*w);
    SimPath::turn_to(w, Activity::SEARCH);
    port->consuming.unlock();
    w->run->ready->push(port->index);
  }
  return nullptr;
}

// Figure 6 asks after each tuple whether the thread is suspended, and tries again and again; what
// looks often is looked at less often here, up to SPIN_STEP rounds at a time.
inline void printed_reschedule(Worker* w, Port* port, uint32_t* round) {
  Simulation& simulation = *w->run;
  const uint32_t at = SimPath::now_doing(w);
  SimPath::turn_to(w, Activity::ROOM, port->op);
  simulation.pass(*w);
  if (port->consuming.try_lock()) {
    if (port->ring.size() > 0) {
      w->reschedules.add(1);
      SimPath::drain(w, port, port->ring.capacity() / 4 + 1, true);
      *round = 0;
      simulation.pass(*w);
    }
    port->consuming.unlock();
  } else {
    *round = std::min(2 * *round + 1, 2 * SPIN_STEP);
    w->mixed += simulation.software.wait_round * *round;
  }
  SimPath::turn_back(w, at);
}

inline void tell_nobody(Worker*, Target*) noexcept {}

}  // namespace millrace::sim
