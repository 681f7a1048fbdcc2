// How many processes a run has that may continue with fewer of them: `--processes 2:4`.
#pragma once

#include <cstdint>

namespace tenon::distributed {

struct ProcessRange {
  int64_t least = 1;
  int64_t most = 1;
};

// A run starts with the most processes. After a lost process all are started again. If one is lost again before a
// checkpoint was written, the run continues with one process fewer. After the next checkpoint with fewer processes, all
// are tried again. If that fails before a checkpoint was written, the run continues with as many processes as before,
// and waits for twice as many checkpoints until it tries again.
class ElasticSize {
 public:
  // REQUIRES: 1 <= least <= most.
  explicit ElasticSize(const ProcessRange& range);

  int64_t processes() const { return processes_; }

  // A process was lost. Returns whether the number was the same before, so that this is a failure of the run. Otherwise
  // an attempt with more processes has failed, which costs nothing.
  bool lose();

  // The processes could not be started. Returns whether fewer may be.
  bool fail_to_start();

  // A checkpoint was written. Returns whether to restart with the most processes now.
  bool note_checkpoint();

 private:
  bool undo_growth();

  ProcessRange range_;
  int64_t processes_;
  int64_t before_growth_ = 0;  // 0: the number has not grown since the last checkpoint
  bool has_lost_ = false;      // since the last checkpoint with the most processes
  int64_t checkpoints_ = 0;    // with the current number
  int64_t awaited_ = 1;        // checkpoints until more processes are tried
};

}  // namespace tenon::distributed
