// A short fake run for a callback, without any training: events in the order of a real run, with fake metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/callback.h>

#include <memory>

#include "framework/components/calls/run_view.h"
#include "framework/validation/session/session.h"

namespace tenon::validation {

// A weight and a bias. They have gradients only while a step has them.
class FakeTensors : public components::TrainedTensors {
 public:
  virtual void have_gradients(bool present) = 0;
  static std::unique_ptr<FakeTensors> make(uint64_t seed);
};

class CallbackUnderTest {
 public:
  // Creates the callback and reads its subscription. Throws Failed if the subscription is invalid.
  explicit CallbackUnderTest(Session& session);

  Subject<tenon_callback>& subject() { return subject_; }
  uint64_t events() const { return events_; }
  int32_t priority() const { return priority_; }
  void read_subscription();

  // Dispatches the subscribed events of a run of two epochs with two steps each. Throws Failed if the callback's
  // requests are invalid.
  void dispatch_run();

 private:
  void dispatch(uint32_t event);
  void dispatch_validation();
  void dispatch_checkpoint();
  void dispatch_step();

  Subject<tenon_callback> subject_;
  uint64_t events_ = 0;
  int32_t priority_ = 0;
  const components::RunDescription description_{"fake", "", true, {{"optimizer.lr", "0.001"}, {"run.name", "fake"}}};
  components::RunView view_;
  tenon_run& run_ = view_.base;
  std::unique_ptr<FakeTensors> tensors_;
};

}  // namespace tenon::validation
