// Adapts a plugin's callback to an observer of the run.
#pragma once

#include "framework/components/calls/run_view.h"
#include "framework/components/calls/trained_tensors.h"
#include "framework/components/kinds/callback.h"
#include "framework/pipeline/state/events.h"

namespace tenon::callbacks {

class PluginCallback final : public pipeline::Observer {
 public:
  // All must outlive this object. `tensors`: the trainable tensors, for callbacks that read them; null: none.
  // `description`: for callbacks that log the run elsewhere; null: none.
  explicit PluginCallback(const components::Callback& callback, const components::TrainedTensors* tensors = nullptr,
                          const components::RunDescription* description = nullptr)
      : callback_(callback), tensors_(tensors), description_(description) {}

  bool subscribes(pipeline::Event event) const override { return callback_.subscribes(static_cast<uint32_t>(event)); }
  std::string name() const override { return "callback " + callback_.component().schema.id; }
  int32_t priority() const override { return callback_.priority(); }
  // Throws Error(plugin) if the plugin fails.
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;
  std::string save_state() const override { return callback_.save_state(); }
  void load_state(const std::string& bytes) override { callback_.load_state(bytes); }

 private:
  const components::Callback& callback_;
  const components::TrainedTensors* tensors_;
  const components::RunDescription* description_;
};

}  // namespace tenon::callbacks
