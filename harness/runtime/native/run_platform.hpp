// run_platform.hpp - the platform of the runtime: real threads, whose steps take the time they
// take.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "loops.hpp"
#include "path.hpp"
#include "state.hpp"
#include "thread.hpp"
#include "typed.hpp"

namespace millrace {

struct RunPlatform {
  template <class T>
  using Word = std::atomic<T>;
  using Lock = std::mutex;

  using Discipline = millrace::Discipline;
  using Operator = millrace::Operator;
  using Port = millrace::Port;
  using Route = millrace::Route;
  using Run = millrace::Run;
  using Target = millrace::Target;
  using Tuple = millrace::Tuple;
  using Worker = millrace::Worker;

  using BalanceState = millrace::BalanceState;
  using BarrierInput = millrace::BarrierInput;
  using BarrierState = millrace::BarrierState;
  using BurstState = millrace::BurstState;
  using LoopInput = millrace::LoopInput;
  using LoopState = millrace::LoopState;
  using MergeState = millrace::MergeState;
  using NativeState = millrace::NativeState;
  using PythonState = millrace::PythonState;
  using SinkState = millrace::SinkState;
  using SourceState = millrace::SourceState;
  using SplitState = millrace::SplitState;
  using TypedState = millrace::TypedState;

  static void step(Worker*, Step, uint32_t) noexcept {}
  static int64_t now_ns(Worker*) noexcept { return millrace::now_ns(); }
  static void pause(Worker*) noexcept { pause_core(); }
  static void yield(Worker*) noexcept { yield_thread(); }
  static void spin(Worker*, uint32_t* round) noexcept { millrace::spin(round); }
  static void sharpen_timer(Worker*) noexcept { millrace::sharpen_timer(); }
};

}  // namespace millrace
