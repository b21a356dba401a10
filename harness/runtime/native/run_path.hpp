// run_path.hpp - the path of a tuple on the platform of the runtime.
#pragma once

#include "coroutine_run.hpp"
#include "disciplines.hpp"
#include "path.hpp"
#include "run_platform.hpp"
#include "stamps.hpp"

namespace millrace {

using RunPath = Path<RunPlatform>;
using RunDisciplines = Disciplines<RunPlatform>;

}  // namespace millrace
