// disciplines.hpp - the behaviour of each kind of queue, as in
// harness/native/disciplines.hpp: those of the runtime, and scheduled ports as P17 prints
// them.
#pragma once

#include "coroutine.hpp"
#include "printed.hpp"

namespace millrace::sim {

inline constexpr Discipline THREADED{
    .pooled = false,
    .resumed = false,
    .body = SimPath::port_body,
    .published = SimPath::tuples_published,
    .wait_for_room = wait_as_either,
};

inline constexpr Discipline SCHEDULED{
    .pooled = true,
    .resumed = false,
    .body = SimPath::scheduler_body,
    .published = SimPath::tuples_ready,
    .wait_for_room = SimPath::reschedule,
};

inline constexpr Discipline PRINTED{
    .pooled = true,
    .resumed = false,
    .body = printed_body,
    .published = tell_nobody,
    .wait_for_room = printed_reschedule,
};

inline constexpr Discipline RESUMED{
    .pooled = false,
    .resumed = true,
    .body = resuming_body,  // of the pool's threads
    .published = SimPath::tuples_for_coroutine,
    .wait_for_room = wait_as_either,
};

}  // namespace millrace::sim
