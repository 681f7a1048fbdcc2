// What a run that resumes may change. Each key of the run file declares its policy where it is read.
#pragma once

#include <string>

namespace tenon::config {

enum class ResumePolicy {
  reported,            // may change; the log reports it
  ignored,             // may change; results do not depend on it
  fixed_within_epoch,  // may change between epochs: it determines the remaining samples of an epoch
  fixed                // may never change: it determines the layout of the saved state
};

// The policy of a key of a plan: "train.epochs", "loss[0].params.smoothing". A key that no run file has is reported.
ResumePolicy find_resume_policy(const std::string& key);

}  // namespace tenon::config
