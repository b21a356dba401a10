// disciplines.hpp - what a threading model is to the tuples that pass: the records of
// harness/runtime/native/disciplines.hpp in virtual time.
#pragma once

#include "coroutine.hpp"
#include "dedicated.hpp"
#include "dynamic.hpp"
#include "simulation.hpp"

namespace millrace::sim {

inline const Discipline Simulation::threaded{
    .pooled = false,
    .resumed = false,
    .body = &Simulation::port_body,
    .published = &Simulation::tuples_published,
    .wait_for_room = &Simulation::wait_for_room,
};

inline const Discipline Simulation::scheduled{
    .pooled = true,
    .resumed = false,
    .body = &Simulation::scheduler_body,
    .published = &Simulation::tuples_ready,
    .wait_for_room = &Simulation::reschedule,
};

inline const Discipline Simulation::resumed{
    .pooled = false,
    .resumed = true,
    .body = &Simulation::resuming_body,  // of the pool's threads
    .published = &Simulation::tuples_resumable,
    .wait_for_room = &Simulation::wait_to_resume,
};

}  // namespace millrace::sim
