// What a run logs, as lines of JSON in its folder, until the server has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace mlflow {

// FOLDER/mlflow/queue.jsonl, from the first line of a run to the last. Lines are only appended, so that everything can
// be sent again to another server. One thread appends and another one reads.
//
// A line is one write(2), so a killed process leaves complete lines, and at most one torn line at the end after a full
// disk or a power failure. Opening the file removes it. Nothing waits for the disk, except for sync(): a process that
// is killed loses nothing, and after a power failure the run resumes from a checkpoint, which sync() follows.
class Queue {
 public:
  struct Line {
    std::string text;  // without a line break
    int64_t end;       // offset of the next line
  };

  // Opens the queue in the folder `folder` of the run, and creates it if it does not exist. Throws tenon::Error with
  // the reason, also if another process or callback has it.
  explicit Queue(const std::string& folder);
  ~Queue();
  Queue(const Queue&) = delete;

  // Returns whether the whole line was written. A partial write is undone.
  bool append(const std::string& line);
  // Returns complete lines from an offset on: at least one if there is one, and about `bytes` bytes.
  std::vector<Line> read(int64_t offset, size_t bytes) const;
  void sync() const;  // waits until the lines are on the disk

  int64_t size() const { return size_; }  // bytes of complete lines
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::atomic<int64_t> size_{0};
};

// FOLDER/mlflow/sent.json: the run on the server, and how much of the queue it has.
struct Sent {
  std::string tracking_uri;
  std::string experiment_id;
  std::string run_id;  // empty: none yet
  std::string artifact_uri;
  int64_t offset = 0;

  // A file that is missing, incomplete or of another server reads as nothing sent: lines can be sent twice, see
  // docs/decisions/0035-logging-to-mlflow.md.
  static Sent read(const std::string& folder, const std::string& tracking_uri);
  // Replaces the file at once. Returns false if it cannot be written.
  bool write(const std::string& folder) const;
};

}  // namespace mlflow
