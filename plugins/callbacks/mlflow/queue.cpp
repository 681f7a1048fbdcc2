#include "plugins/callbacks/mlflow/queue.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tenon/error.hpp>

namespace mlflow {

namespace {

constexpr size_t kBlock = 64 << 10;

std::string folder_of(const std::string& run_folder) { return run_folder + "/mlflow"; }

// read(2) and write(2) may transfer fewer bytes than requested.
size_t read_at(int descriptor, char* into, size_t bytes, int64_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t count = pread(descriptor, into + done, bytes - done, offset + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

bool write_all(int descriptor, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = write(descriptor, data, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

// Returns the size up to the last line break.
int64_t find_complete_size(int descriptor) {
  int64_t end = lseek(descriptor, 0, SEEK_END);
  std::string block;
  while (end > 0) {
    const int64_t begin = std::max<int64_t>(0, end - static_cast<int64_t>(kBlock));
    block.resize(static_cast<size_t>(end - begin));
    block.resize(read_at(descriptor, block.data(), block.size(), begin));
    const size_t found = block.rfind('\n');
    if (found != std::string::npos) return begin + static_cast<int64_t>(found) + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

Queue::Queue(const std::string& folder) : path_(folder_of(folder) + "/queue.jsonl") {
  std::error_code ignored;  // open() reports why there is no folder
  std::filesystem::create_directory(folder_of(folder), ignored);
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw tenon::Error(path_ + " cannot be opened: " + std::strerror(errno));
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const std::string reason = errno == EWOULDBLOCK ? "another process or callback sends it" : std::strerror(errno);
    close(descriptor_);
    throw tenon::Error(path_ + ": " + reason + "; expected one callback mlflow, and one process, per run");
  }
  size_ = find_complete_size(descriptor_);
  if (ftruncate(descriptor_, size_) != 0) {
    const std::string reason = std::strerror(errno);
    close(descriptor_);
    throw tenon::Error(path_ + " cannot be shortened to its complete lines: " + reason);
  }
}

Queue::~Queue() { close(descriptor_); }

bool Queue::append(const std::string& line) {
  const std::string text = line + '\n';
  if (!write_all(descriptor_, text.data(), text.size())) {
    const int error = errno;
    static_cast<void>(!ftruncate(descriptor_, size_));
    errno = error;
    return false;
  }
  size_ += static_cast<int64_t>(text.size());
  return true;
}

std::vector<Queue::Line> Queue::read(int64_t offset, size_t bytes) const {
  std::vector<Line> lines;
  const int64_t left = size_ - offset;
  if (left <= 0) return lines;
  std::string text;
  for (size_t wanted = bytes; lines.empty(); wanted *= 2) {
    text.resize(static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(wanted))));
    text.resize(read_at(descriptor_, text.data(), text.size(), offset));
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      lines.push_back({text.substr(begin, end - begin), offset + static_cast<int64_t>(end) + 1});
      begin = end + 1;
    }
    if (static_cast<int64_t>(wanted) >= left) break;
  }
  return lines;
}

void Queue::sync() const { static_cast<void>(!fdatasync(descriptor_)); }

Sent Sent::read(const std::string& folder, const std::string& tracking_uri) {
  Sent nothing;
  nothing.tracking_uri = tracking_uri;
  std::ifstream stream(folder_of(folder) + "/sent.json");
  const nlohmann::json json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  try {
    if (!json.is_object() || json.at("tracking_uri") != tracking_uri) return nothing;
    return {tracking_uri, json.at("experiment_id"), json.at("run_id"), json.at("artifact_uri"), json.at("offset")};
  } catch (const nlohmann::json::exception&) {
    return nothing;
  }
}

bool Sent::write(const std::string& folder) const {
  const nlohmann::ordered_json json = {{"tracking_uri", tracking_uri},
                                       {"experiment_id", experiment_id},
                                       {"run_id", run_id},
                                       {"artifact_uri", artifact_uri},
                                       {"offset", offset}};
  const std::string path = folder_of(folder) + "/sent.json";
  const std::string temporary = folder_of(folder) + "/.sent.json.tmp-" + std::to_string(getpid());
  std::ofstream stream(temporary, std::ios::trunc);
  stream << json.dump(1) << '\n';
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, path, error);
  return stream && !error;
}

}  // namespace mlflow
