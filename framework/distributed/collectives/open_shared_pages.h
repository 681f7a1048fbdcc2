// Opens memory that all ranks of one machine share.
#pragma once

#include <chrono>
#include <memory>

#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/collectives/shared_pages.h"

namespace tenon::distributed {

// A collective. Returns null on all ranks if one of them cannot open the memory of rank 0, for example from another
// container. Opening it requires access to the open files of rank 0.
std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
