// A short run that is told to a callback without any training: events in the order of a real one, with made-up figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/callback.h>

#include <memory>

#include "framework/plugins/run_view.h"
#include "framework/validation/session.h"

namespace tenon::validation {

// A weight and a bias, with gradients while a step has them.
class MadeUpTensors : public plugins::TrainedTensors {
 public:
  virtual void have_gradients(bool present) = 0;
  static std::unique_ptr<MadeUpTensors> make(uint64_t seed);
};

class CallbackUnderTest {
 public:
  // Creates the callback and asks for its events. Throws Failed where they make no sense.
  explicit CallbackUnderTest(Session& session);

  Subject<tenon_callback>& subject() { return subject_; }
  uint64_t events() const { return events_; }
  int32_t priority() const { return priority_; }
  void read_subscription();

  // Tells it a run of two epochs with two steps each, as far as it wants to hear. Throws Failed for a verdict that
  // makes no sense.
  void tell_run();

 private:
  void tell(uint32_t event);
  void tell_validation();
  void tell_checkpoint();
  void tell_step();

  Subject<tenon_callback> subject_;
  uint64_t events_ = 0;
  int32_t priority_ = 0;
  plugins::RunView view_;
  tenon_run& run_ = view_.base;
  std::unique_ptr<MadeUpTensors> tensors_;
};

}  // namespace tenon::validation
