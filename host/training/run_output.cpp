#include "host/training/run_output.h"

namespace tenon::host {

namespace {

class NoOutput final : public RunOutput {
 public:
  void open(const pipeline::Training&, const RunRecorder&, const Resumption*) override {}
  void say(const std::string&) override {}
  void close(const pipeline::RunReport&, const pipeline::Training&, const RunRecorder&) override {}
};

}  // namespace

std::unique_ptr<RunOutput> make_run_output(const TrainOptions& options) {
  if (options.is_quiet) return std::make_unique<NoOutput>();
  return options.logs_json ? make_json_output() : make_text_output();
}

}  // namespace tenon::host
