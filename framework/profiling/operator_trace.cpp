#include "framework/profiling/operator_trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"

namespace tenon::profiling {

namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

// The profiler can only write to a file.
class ScratchFile {
 public:
  ScratchFile() : path_((support::find_temporary_folder() / "tenon-trace-XXXXXX").string()) {
    if (!mkdtemp(path_.data()))
      throw support::Error(support::ErrorKind::system, path_ + ": cannot be created: " + std::strerror(errno));
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  std::string path() const { return path_ + "/operators.json"; }

 private:
  std::string path_;
};

}  // namespace

OperatorTrace::OperatorTrace(const c10::Device& device) {
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  // Without a CUDA device, the profiler logs an error. A level that the user has set is unchanged.
  if (device.is_cpu()) setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const ProfilerConfig config(ProfilerState::KINETO, /*report_input_shapes=*/true);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
}

OperatorTrace::~OperatorTrace() {
  if (is_on_) profiler::disableProfiler();
}

std::string OperatorTrace::stop() {
  is_on_ = false;
  const auto result = profiler::disableProfiler();
  const ScratchFile file;
  result->save(file.path());
  std::ifstream stream(file.path(), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (text.empty())
    throw support::Error(support::ErrorKind::system,
                         file.path() + ": LibTorch's profiler wrote an empty file; check the free space on that disk");
  return text;
}

}  // namespace tenon::profiling
