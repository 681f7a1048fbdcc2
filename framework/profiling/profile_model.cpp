#include "framework/profiling/profile_model.h"

#include <torch/types.h>

#include <algorithm>

#include "framework/pipeline/build/compute_losses.h"
#include "framework/pipeline/loop/train_step.h"

namespace tenon::profiling {

namespace {

// The number of steps until caches are filled and libraries have selected their algorithms.
constexpr int64_t kWarmUp = 3;

bool is_within(const std::string& module, const std::string& outer) {
  return outer.empty() || module == outer || module.starts_with(outer + ".");
}

// A module without direct tensors is inserted before its submodules.
ModuleProfile& find_module(std::vector<ModuleProfile>& modules, const std::string& name) {
  const auto found = std::ranges::find(modules, name, &ModuleProfile::name);
  if (found != modules.end()) return *found;
  const auto within = std::ranges::find_if(modules, [&](const auto& module) { return is_within(module.name, name); });
  return *modules.insert(within, {name});
}

// Tied tensors are counted once, under their first name.
std::vector<ModuleProfile> list_modules(const std::vector<components::NamedTensor>& tensors) {
  std::vector<ModuleProfile> modules;
  for (auto named = tensors.begin(); named != tensors.end(); ++named) {
    const bool is_tied =
        std::any_of(tensors.begin(), named, [&](const auto& other) { return other.tensor.is_same(named->tensor); });
    if (is_tied) continue;
    const std::string name = components::module_of(named->name);
    auto module = std::ranges::find(modules, name, &ModuleProfile::name);
    if (module == modules.end()) module = modules.insert(modules.end(), {name});
    module->bytes += static_cast<int64_t>(named->tensor.nbytes());
    if (named->trainable) module->parameters += named->tensor.numel();
  }
  return modules;
}

void add(const ModuleProfile& module, ModuleProfile& sum) {
  sum.parameters += module.parameters;
  sum.bytes += module.bytes;
  sum.macs += module.macs;
  sum.seconds += module.seconds;
}

class Profiler {
 public:
  explicit Profiler(pipeline::Training& training)
      : training_(training),
        batch_(pipeline::read_first_batch(training)),
        step_(
            training, [](pipeline::Event) {}, [](const pipeline::StepMetrics&) {}) {
    training.optimizer->start_epoch(1);
    step_.start_epoch();
  }

  ModelProfile run(int64_t repeats) {
    ModelProfile profile;
    profile.batch_size = batch_.size;
    describe_inputs(profile);
    profile_evaluation(profile);
    profile_step(profile);
    profile.evaluation = time_repeated(training_.device, kWarmUp, repeats, [this] { evaluate(); });
    profile.step = time_steps(repeats);
    return profile;
  }

  StepProfile run_steps(int64_t repeats) {
    StepProfile profile;
    profile.batch_size = batch_.size;
    ModuleProfile total;
    for (const ModuleProfile& module : list_modules(training_.model.tensors())) add(module, total);
    for (const at::Tensor& field : make_batch_tensors(/*trains=*/true).host_fields)
      profile.batch_bytes += static_cast<int64_t>(field.nbytes());
    measure_saved_for_backward();  // excludes one-time initialisation, such as the workspace of cuBLAS
    profile.saved_bytes = measure_saved_for_backward();
    const Memory first = measure_step();
    const Memory second = measure_step();
    profile.fixed_bytes = total.bytes + first.held;
    profile.peak_bytes = total.bytes + std::max(first.peak, first.held + second.peak);
    profile.step = time_steps(repeats);
    return profile;
  }

 private:
  struct Memory {
    int64_t held;
    int64_t peak;
  };

  pipeline::BatchTensors make_batch_tensors(bool trains) { return training_.train->to_batch_tensors(batch_, trains); }

  components::StepContext context(bool trains) const {
    components::StepContext context{trains, steps_, 1, 0, 1, training_.plan->run.seed};
    context.checkpoints_activations = trains && training_.plan->train.activation_checkpointing;
    return context;
  }

  void describe_inputs(ModelProfile& profile) {
    evaluated_ = make_batch_tensors(/*trains=*/false);
    const std::vector<at::Tensor> inputs = training_.train->model.front().gather(evaluated_);
    for (size_t i = 0; i < inputs.size(); ++i)
      profile.inputs.emplace_back(training_.model.inputs()[i].name, inputs[i].sizes().vec());
  }

  void evaluate() {
    const at::NoGradGuard no_grad;
    pipeline::run_model(training_, *training_.train, evaluated_, context(false));
    evaluated_.outputs.clear();
  }

  void add_batch() { step_.run_batch(batch_, context(true)); }

  void finish_step() {
    step_.finish_step({training_.plan->optimizer.lr}, /*with_norm=*/false);
    step_.drain();
    ++steps_;
  }

  void profile_evaluation(ModelProfile& profile) {
    evaluate();  // excludes one-time initialisation
    {
      const OperatorLog log(training_.model.tensors());
      evaluate();
      std::vector<LoggedOperator> operators = log.operators();
      complete_modules(operators);
      profile.modules = list_modules(training_.model.tensors());
      for (const LoggedOperator& logged : operators) {
        ModuleProfile& module = find_module(profile.modules, logged.module);
        module.macs += logged.macs;
        module.seconds += logged.seconds;
      }
      for (const ModuleProfile& module : profile.modules) add(module, profile.total);
      profile.uncounted = log.uncounted();
    }
    const MemoryMonitor monitor(training_.device);
    evaluate();
    profile.evaluation_peak_bytes = monitor.peak();
  }

  int64_t measure_saved_for_backward() {
    const MemoryMonitor monitor(training_.device);
    pipeline::BatchTensors batch_tensors = make_batch_tensors(/*trains=*/true);
    const int64_t before = monitor.held();
    pipeline::run_model(training_, *training_.train, batch_tensors, context(true));
    const auto losses = pipeline::compute_losses(training_, *training_.train, batch_tensors, context(true));
    return monitor.held() - before;
  }

  Memory measure_step() {
    const MemoryMonitor monitor(training_.device);
    add_batch();
    finish_step();
    return {monitor.held(), monitor.peak()};
  }

  Latency time_steps(int64_t repeats) {
    return time_repeated(training_.device, kWarmUp, repeats, [this] {
      add_batch();
      finish_step();
    });
  }

  void profile_step(ModelProfile& profile) {
    profile.saved_for_backward = measure_saved_for_backward();
    profile.state_bytes = measure_step().held;
    {
      const OperatorLog log(training_.model.tensors());
      add_batch();
      profile.step_macs = log.macs();
      profile.uncounted.insert(log.uncounted().begin(), log.uncounted().end());
    }
    finish_step();
    profile.step_peak_bytes = measure_step().peak;
  }

  pipeline::Training& training_;
  const data::Batch& batch_;
  pipeline::TrainStep step_;
  pipeline::BatchTensors evaluated_;
  int64_t steps_ = 0;
};

}  // namespace

std::vector<ModuleProfile> group_modules(const std::vector<ModuleProfile>& modules, size_t depth) {
  std::vector<ModuleProfile> groups;
  for (const ModuleProfile& module : modules) {
    size_t end = 0;
    for (size_t parts = 0; parts < depth && end < module.name.size(); ++parts)
      end = std::min(module.name.find('.', end + 1), module.name.size());
    const std::string name = module.name.substr(0, end);
    auto group = std::ranges::find(groups, name, &ModuleProfile::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name});
    add(module, *group);
  }
  return groups;
}

ModelProfile profile_model(pipeline::Training& training, int64_t repeats) { return Profiler(training).run(repeats); }

StepProfile profile_steps(pipeline::Training& training, int64_t repeats) {
  return Profiler(training).run_steps(repeats);
}

}  // namespace tenon::profiling
