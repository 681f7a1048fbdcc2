// A model file of a run of one step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::end_to_end {

struct ExportedModel {
  std::filesystem::path folder;
  std::string config;  // the run file
  std::string file;    // NAME.tenon

  // Returns the file that `host predict --output predictions.safetensors` writes.
  std::filesystem::path predict(const std::vector<std::string>& arguments) const;
};

// `body`: the run file without [run], [train] and [optimizer]. `train`: more keys of [train]. Operators have one
// thread.
ExportedModel export_model(const std::string& name, const std::string& body, const std::string& train = "");

constexpr uint64_t kBatch = 3;  // samples

// Predicts the validation data with the library and with `host predict`, in batches of kBatch, and checks that all
// outputs have the same bits. `plugins`: for the library.
void compare_with_host(const ExportedModel& exported, const std::vector<std::string>& plugins = {});

std::string in_quotes(const std::filesystem::path& path);

}  // namespace tenon::end_to_end
