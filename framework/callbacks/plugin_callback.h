// Adapts a plugin's callback to an observer of the run.
#pragma once

#include "framework/pipeline/state/events.h"
#include "framework/plugins/calls/run_view.h"
#include "framework/plugins/calls/trained_tensors.h"
#include "framework/plugins/components/callback.h"

namespace tenon::callbacks {

class PluginCallback final : public pipeline::Observer {
 public:
  // All must outlive this object. `tensors`: the trainable tensors, for callbacks that read them; null: none.
  // `description`: for callbacks that log the run elsewhere; null: none.
  explicit PluginCallback(const plugins::Callback& callback, const plugins::TrainedTensors* tensors = nullptr,
                          const plugins::RunDescription* description = nullptr)
      : callback_(callback), tensors_(tensors), description_(description) {}

  bool subscribes(pipeline::Event event) const override { return callback_.subscribes(static_cast<uint32_t>(event)); }
  std::string name() const override { return "callback " + callback_.component().schema.id; }
  int32_t priority() const override { return callback_.priority(); }
  // Throws Error(plugin) if the plugin fails.
  void on_event(pipeline::Event event, const pipeline::RunState& state, pipeline::CallbackRequests& requests) override;
  std::string save_state() const override { return callback_.save_state(); }
  void load_state(const std::string& bytes) override { callback_.load_state(bytes); }

 private:
  const plugins::Callback& callback_;
  const plugins::TrainedTensors* tensors_;
  const plugins::RunDescription* description_;
};

}  // namespace tenon::callbacks
