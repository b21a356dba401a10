// The path of a tuple, compiled apart from the co-routines' scheduler, which is declared here
// alone: for a test of what the path itself calls.
#include "run_platform.hpp"
#include "stamps.hpp"

namespace millrace {

class CoroutineRun {
 public:
  bool first(Worker*);
  uint32_t send(Worker*, Tuple*, uint32_t);
  void end();
  void work(uint32_t);
  uint32_t inputs(Worker*);
  bool wait(Worker*);
  Port* input(Worker*, uint32_t);
  bool close_input(Worker*, uint32_t);
  void need(Worker*, uint32_t, uint32_t);
  void wait_for(Worker*, bool);
  Tuple* take(Worker*, uint32_t*);
  bool marked(Worker*);
  bool ends(Worker*);
  void written(uint32_t);
  void written_by_one_of(uint32_t);
  void taken(uint32_t);
  void gave_room(Port*);
  void gave(uint32_t);
  void lack(Worker*, uint32_t);
  void wait_for_any_room(Worker*);
  void wait_for_merge(Worker*, const MergeState*, uint32_t);
  void wait_for_buffers(Worker*, const Operator*);
  void sleep_until(Worker*, int64_t);
  void check_for_preemption(Worker*);
  void on_thread(Worker*, void (*)(void*), void*);
  bool find_deadlock();
  size_t stride(const Worker*);
};

template struct Path<RunPlatform>;

}  // namespace millrace
