#include "framework/reporting/terminal/run_output.h"

namespace tenon::reporting {

namespace {

class NoOutput final : public RunOutput {
 public:
  void open(const pipeline::Training&, const RecordedRun&, const artifacts::FoundCheckpoint*) override {}
  void say(const std::string&) override {}
  void close(const pipeline::RunReport&, const pipeline::Training&, const RecordedRun&) override {}
};

}  // namespace

std::unique_ptr<RunOutput> make_no_output() { return std::make_unique<NoOutput>(); }

}  // namespace tenon::reporting
