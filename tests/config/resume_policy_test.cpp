#include "framework/config/file/read_run_config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "framework/config/file/read_run_config.h"
#include "framework/support/files/read_file.h"

using namespace tenon::config;

namespace {

// Returns the names in backquotes in the row of docs/guides/resume.md that begins with `first_cell`.
std::vector<std::string> documented_keys(const std::string& first_cell) {
  const std::string page = tenon::support::read_text(TENON_SOURCE_DIR "/docs/guides/resume.md");
  const size_t begin = page.find("\n| " + first_cell + " |");
  REQUIRE(begin != page.npos);
  const std::string row = page.substr(begin + 1, page.find('\n', begin + 1) - begin - 1);
  const std::regex quoted("`([^`]+)`");
  std::vector<std::string> keys;
  for (std::sregex_iterator match(row.begin(), row.end(), quoted), none; match != none; ++match)
    keys.push_back((*match)[1]);
  return keys;
}

// "[[loss]]" and "[log]" name tables.
std::string path_of(const std::string& name) {
  if (name.starts_with("[[")) return name.substr(2, name.size() - 4) + "[]";
  return name.starts_with('[') ? name.substr(1, name.size() - 2) : name;
}

bool is_under(const std::string& key, const std::string& path) { return key == path || key.starts_with(path + "."); }

}  // namespace

TEST_CASE("a key has the policy that it declares, and a key of a component that of its table") {
  CHECK(find_resume_policy("model.params.hidden") == ResumePolicy::fixed);
  CHECK(find_resume_policy("model.inputs.image") == ResumePolicy::reported);
  CHECK(find_resume_policy("model.weights_match") == ResumePolicy::ignored);
  CHECK(find_resume_policy("loss[0].weight") == ResumePolicy::fixed);
  CHECK(find_resume_policy("loss[12].inputs.logits") == ResumePolicy::fixed);
  CHECK(find_resume_policy("callback[1].params.patience") == ResumePolicy::reported);
  CHECK(find_resume_policy("callback[1].params.monitor") == ResumePolicy::fixed);
  CHECK(find_resume_policy("metric[0].use") == ResumePolicy::reported);
  CHECK(find_resume_policy("optimizer.use") == ResumePolicy::fixed);
  CHECK(find_resume_policy("optimizer.lr") == ResumePolicy::reported);
  CHECK(find_resume_policy("optimizer.group[0].lr_scale") == ResumePolicy::fixed);
  CHECK(find_resume_policy("schedule.use") == ResumePolicy::fixed);
  CHECK(find_resume_policy("schedule.warmup") == ResumePolicy::reported);
  CHECK(find_resume_policy("train.average.decay") == ResumePolicy::fixed);
  CHECK(find_resume_policy("data.train.params.path") == ResumePolicy::fixed_within_epoch);
  CHECK(find_resume_policy("data.train.change[0].at_epoch") == ResumePolicy::fixed_within_epoch);
  CHECK(find_resume_policy("data.validation.params.path") == ResumePolicy::reported);
  CHECK(find_resume_policy("data.workers") == ResumePolicy::reported);
  CHECK(find_resume_policy("plugins.sha256.\"mlp.so\"") == ResumePolicy::ignored);
  CHECK(find_resume_policy("log.every") == ResumePolicy::ignored);
  CHECK(find_resume_policy("no.such.key") == ResumePolicy::reported);
}

TEST_CASE("docs/guides/resume.md lists the policy of every key") {
  const std::vector<RequestedKey> all = list_run_file_keys();
  for (const auto& [cell, policy] : {std::pair{"never", ResumePolicy::fixed},
                                     {"between epochs", ResumePolicy::fixed_within_epoch},
                                     {"at any time, without a message", ResumePolicy::ignored}}) {
    const std::string first_cell = cell;
    CAPTURE(first_cell);
    const std::vector<std::string> documented = documented_keys(first_cell);
    for (const RequestedKey& key : all) {
      if (key.form == RequestedKey::Form::table || key.form == RequestedKey::Form::tables) continue;
      CAPTURE(key.path);
      const bool is_documented =
          std::ranges::any_of(documented, [&](const std::string& name) { return is_under(key.path, path_of(name)); });
      CHECK(is_documented == (key.on_resume == policy));
    }
    for (const std::string& name : documented) {
      CAPTURE(name);
      CHECK(std::ranges::any_of(all, [&](const RequestedKey& key) { return is_under(key.path, path_of(name)); }));
    }
  }
}
