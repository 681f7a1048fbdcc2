#include "host/verify_resume/resume_reasons.h"

#include <tenon/saved_state.h>

#include <algorithm>

#include "framework/components/calls/guard.h"

namespace tenon::host {

namespace {

using config::ComponentKind;

bool saves_state(const components::Component& component) {
  if (!component.get_extension) return false;
  const void* found = nullptr;
  components::call_plugin(component, "get_extension", [&] {
    found = component.get_extension(components::to_tenon(TENON_SAVED_STATE));
    return TENON_OK;
  });
  return found != nullptr;
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

void add_callbacks(const OpenedRun& opened, std::vector<std::string>& reasons) {
  std::vector<std::string> forgetful, timed;
  for (const config::CallbackPlan& plan : opened.plan.callbacks) {
    if (!saves_state(opened.catalogue.find(ComponentKind::callback, plan.use))) add_once(forgetful, plan.use);
    for (const config::Period& period : {plan.filter.every, plan.filter.after})
      if (period.unit == config::Period::Unit::seconds) add_once(timed, plan.use);
  }
  if (!forgetful.empty())
    reasons.push_back("callbacks without saved state, which start from scratch when the run resumes: " +
                      join(forgetful) + "; a callback with state between steps must save it (tenon/saved_state.h)");
  if (!timed.empty()) reasons.push_back("callbacks that are triggered by time (every or after): " + join(timed));
}

std::string name_components(const config::RunPlan& plan) {
  std::vector<std::string> names{"the dataset " + plan.data.train.use, "the model " + plan.model.use};
  for (const config::LossPlan& loss : plan.losses) add_once(names, "the loss " + loss.use);
  for (const config::MetricPlan& metric : plan.metrics) add_once(names, "the metric " + metric.use);
  return join(names);
}

}  // namespace

std::vector<std::string> find_reasons(const ResumeReport& report, const OpenedRun& opened) {
  std::vector<std::string> reasons;
  if (is_same(report)) return reasons;
  const config::RunPlan& plan = opened.plan;
  if (!is_unsteady(report)) add_callbacks(opened, reasons);
  reasons.push_back("random numbers or counters inside a component: " + name_components(plan) +
                    "; a dataset must use the seed of the sample, a model the host's generators or its buffers");
  if (const std::string device = read_device(report.whole); device != "cpu")
    reasons.push_back("the run used " + device +
                      ": bitwise reproducibility is guaranteed only on the CPU; try --set run.device=cpu");
  if (is_unsteady(report) && plan.run.threads != 1)
    reasons.push_back("libraries that sum in a different order on several threads; try --set run.threads=1");
  return reasons;
}

}  // namespace tenon::host
