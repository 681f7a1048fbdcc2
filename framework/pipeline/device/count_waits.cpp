#include "framework/pipeline/device/count_waits.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace tenon::pipeline {

namespace {

std::atomic<int64_t> waits{0};

}  // namespace

class CountWaits::Handler final : public c10::WarningHandler {
 public:
  Handler() : before_(c10::WarningUtils::get_warning_handler()) { c10::WarningUtils::set_warning_handler(this); }
  ~Handler() override { c10::WarningUtils::set_warning_handler(before_); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing CUDA operation") != std::string::npos)
      ++waits;
    else
      before_->process(warning);
  }

 private:
  c10::WarningHandler* before_;
};

CountWaits::CountWaits() : handler_(std::make_unique<Handler>()) {}
CountWaits::~CountWaits() = default;

int64_t CountWaits::total() { return waits; }

}  // namespace tenon::pipeline
