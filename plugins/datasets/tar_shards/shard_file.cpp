#include "plugins/datasets/tar_shards/shard_file.h"

#include <sys/resource.h>

namespace tar_shards {

size_t max_open_shards() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 512;
  return static_cast<size_t>(limit.rlim_cur / 2);
}

}  // namespace tar_shards
