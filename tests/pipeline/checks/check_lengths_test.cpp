// Tests the warnings about settings that the run never reaches.
#include "framework/pipeline/checks/check_lengths.h"

#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::pipeline::check_lengths_test {
namespace {

// Of a run of 2 epochs with 4 steps each. Warnings without the place at their beginning.
std::vector<std::string> warnings_of(const std::vector<std::string>& overrides) {
  const BuiltRun run({overrides});
  std::vector<std::string> warnings;
  for (const std::string& warning : check_lengths(*run.training)) {
    CAPTURE(warning);
    CHECK(warning.find('\n') == warning.npos);
    const size_t end = warning.find(": ");
    const bool has_place = warning.find("run.toml") < end || warning.starts_with("--set ");
    CHECK(has_place);
    warnings.push_back(warning.substr(end + 2));
  }
  return warnings;
}

// The key of the one warning, which names the length of the run and the fix; "none" without a warning.
std::string key_of(const std::vector<std::string>& overrides) {
  const std::vector<std::string> warnings = warnings_of(overrides);
  if (warnings.empty()) return "none";
  CHECK(warnings.size() == 1);
  const std::string& warning = warnings.front();
  CAPTURE(warning);
  const std::string key = warning.substr(0, warning.find(" is "));
  CHECK(warning.find("; expected ") != warning.npos);
  CHECK(warning.find(": lower " + key) != warning.npos);
  return key;
}

}  // namespace

TEST_CASE("a run that reaches all its settings has no warnings about lengths") {
  CHECK(key_of({}) == "none");
  CHECK(key_of({"train={steps=1}"}) == "none");  // shorter than the default intervals of one epoch
  CHECK(key_of({"schedule={use='one_cycle'}"}) == "none");
  CHECK(key_of({"schedule={use='cosine',warmup=4}"}) == "none");
  CHECK(key_of({"validation.every='60 seconds'", "checkpoint.every='1 hour'"}) == "none");
  CHECK(key_of({"validation.every='never'"}) == "none");
}

TEST_CASE("a setting that the run never reaches is one warning") {
  struct Case {
    std::string key, reached, missed;
  };
  const std::vector<Case> cases = {
      {"schedule.warmup", "schedule={warmup=8}", "schedule={warmup=9}"},
      {"schedule.warmup", "schedule={warmup='2 epochs'}", "schedule={use='multi_step',warmup=9,milestones=[10]}"},
      {"schedule.length", "schedule={use='linear',length=8}", "schedule={use='linear',length=9}"},
      {"schedule.length", "schedule={use='cosine',length='1 epoch',warmup=4}",
       "schedule={use='cosine',length='1 epoch',warmup=5}"},
      {"schedule.length", "schedule={use='polynomial',length=8}", "schedule={use='polynomial',length='3 epochs'}"},
      {"schedule.t_0", "schedule={use='cosine_restarts',t_0=7}", "schedule={use='cosine_restarts',t_0=8}"},
      {"schedule.step_size", "schedule={use='step',step_size=7}", "schedule={use='step',step_size='2 epochs'}"},
      {"schedule.milestones.1", "schedule={use='multi_step',milestones=[4,7]}",
       "schedule={use='multi_step',milestones=[4,'300 epochs']}"},
      {"schedule.every", "schedule={use='exponential',gamma=0.5,every=8}",
       "schedule={use='exponential',gamma=0.5,every=9}"},
      {"schedule.decay", "schedule={use='warmup_stable_decay',decay=8}",
       "schedule={use='warmup_stable_decay',decay=9}"},
      {"schedule.patience", "schedule={use='reduce_on_plateau',patience=0}",
       "schedule={use='reduce_on_plateau',patience=1}"},
      {"train.average.start", "train.average={use='ema',decay=0.5,start=\"7 steps\"}",
       "train.average={use='ema',decay=0.5,start=\"2 epochs\"}"},
      {"train.average.decay", "train.average={use='ema',decay=0.9}", "train.average={use='ema',decay=0.95}"},
      {"train.average.decay", "train.average={use='ema',decay=0.9999,warm_up=true}",
       "train.average={use='ema',decay=0.9999}"},
      {"train.average.every", "train.average={use='swa',every=\"2 epochs\"}",
       "train.average={use='swa',start=\"7 steps\",every=\"5 steps\"}"},
      {"data.train.change.0.at_epoch", "data.train.change=[{at_epoch=2,params={split='train'}}]",
       "data.train.change=[{at_epoch=3,params={split='train'}}]"},
      {"optimizer.group.0.frozen_epochs", "optimizer.group=[{match=['*bias'],frozen_epochs=1}]",
       "optimizer.group=[{match=['*bias'],frozen_epochs=2}]"},
      {"validation.every", "validation={every='8 steps'}", "validation={every='9 steps'}"},
      {"checkpoint.every", "checkpoint={every='2 epochs'}", "checkpoint={every='3 epochs'}"},
      {"log.histograms", "log={histograms='8 steps'}", "log={histograms='9 steps'}"},
      {"callback.0.every", "callback=[{use='weight_statistics',every='2 epochs'}]",
       "callback=[{use='weight_statistics',every='9 steps'}]"},
      {"callback.0.after", "callback=[{use='weight_statistics',after='7 steps'}]",
       "callback=[{use='weight_statistics',after='2 epochs'}]"},
      {"callback.0.params.patience", "callback=[{use='early_stopping',params={patience=1}}]",
       "callback=[{use='early_stopping',params={patience=2}}]"},
      {"train.accumulate", "train.accumulate=4", "train.accumulate=1000"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.missed);
    CHECK(key_of({one.reached}) == "none");
    CHECK(key_of({one.missed}) == one.key);
  }
}

TEST_CASE("a warning about a length names the length of the run") {
  CHECK(warnings_of({"train.average={use='ema',decay=0.99999}"}) ==
        std::vector<std::string>{"train.average.decay is 0.99999 (69314 steps), but the run has 8 steps, so more than "
                                 "half of the average are the weights that it begins with; expected at most 8 steps: "
                                 "lower train.average.decay, or raise train.epochs"});
  CHECK(warnings_of({"schedule={use='multi_step',warmup=1,milestones=['300 epochs']}"}) ==
        std::vector<std::string>{"schedule.milestones.0 is \"300 epochs\" after the warm-up (1201 steps), but the run "
                                 "has 8 steps, so the learning rate does not fall there; expected fewer than 8 steps: "
                                 "lower schedule.milestones.0, or raise train.epochs"});
  CHECK(warnings_of({"train.accumulate=1000"}) ==
        std::vector<std::string>{"train.accumulate is 1000 (1000 batches), but an epoch has 4 batches, so each epoch "
                                 "is one step of 4 batches; expected at most 4 batches: lower train.accumulate"});
}

TEST_CASE("patience is compared with the validations of the run") {
  const auto patience = [](int count) {
    return "callback=[{use='early_stopping',params={patience=" + std::to_string(count) + "}}]";
  };
  CHECK(key_of({patience(7), "validation={every='1 step'}"}) == "none");
  CHECK(key_of({patience(8), "validation={every='1 step'}"}) == "callback.0.params.patience");
  CHECK(key_of({patience(8), "validation={every='1 step',at_start=true}"}) == "none");
  CHECK(key_of({patience(2), "validation={every='3 steps'}"}) == "none");  // and at the end
  CHECK(key_of({patience(3), "validation={every='3 steps'}"}) == "callback.0.params.patience");
  CHECK(key_of({patience(3), "validation={every='0.5 epochs'}"}) == "none");
  CHECK(key_of({patience(4), "validation={every='0.5 epochs'}"}) == "callback.0.params.patience");
  CHECK(key_of({patience(100), "validation={every='1 second'}"}) == "none");
}

}  // namespace tenon::pipeline::check_lengths_test
