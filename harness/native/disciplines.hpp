// disciplines.hpp - the behaviour of each kind of queue (harness.models.Queue): one record for
// each, with the loop of its threads, the steps after a push, and the wait at a full queue.
//
// A port that is called has none. A new model is one more record, the body of its threads, and a
// class in harness/models, which says which ports get such queues.
#pragma once

#include "path.hpp"

namespace millrace {

template <class Platform>
struct Disciplines {
  using Discipline = typename Platform::Discipline;
  using Functions = Path<Platform>;

  static constexpr Discipline THREADED{false, Functions::port_body, Functions::tuples_published,
                                       Functions::wait_for_room};
  static constexpr Discipline SCHEDULED{true, Functions::scheduler_body, Functions::tuples_ready,
                                        Functions::reschedule};
  static constexpr Discipline RESUMED{false, Functions::thread_body,
                                      Functions::tuples_for_coroutine, Functions::wait_for_room};
};

}  // namespace millrace
