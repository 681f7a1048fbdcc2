// A trained model for other programs, in one file: `host export --output NAME.tenon`. A zip archive without
// compression:
//
//   model.json           the description, docs/reference/model_file.md
//   run.toml             what `host evaluate` and `host predict` read: the plan of the run, without paths
//   weights.safetensors  the weights, as of `host export --output NAME.safetensors`; not for a model with a .pt2
//   archive files/PARAMETER      each file that a parameter of the model names; a .pt2 archive has the trained weights
//
// The comment of the archive is the XXH128 of all bytes before it, so that damaged files are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/components/kinds/dataset.h"
#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::pipeline {

inline constexpr const char* kModelWeights = "weights.safetensors";
inline constexpr const char* kModelRunFile = "run.toml";
inline constexpr int kModelFileFormat = 1;

struct ModelFileContents {
  const config::SchemaSource& schemas;
  const config::RunPlan& plan;  // with all sizes of the model
  const components::Model& model;
  const components::Dataset& data;                     // describes the inputs
  int64_t step = 0, epoch = 0;                         // of the weights
  std::vector<std::filesystem::path> bundled_plugins;  // folders of the installation; their plugins may change
  std::map<std::string, std::string> metadata = {};    // of the weights
};

// Returns the number of tensors. Throws Error(configuration) if the file cannot be written, if the data do not fit the
// model, or if a parameter of the model names a folder.
size_t write_model_file(const std::filesystem::path& file, const ModelFileContents& contents);

class ModelFile {
 public:
  // Reads the whole file once for its digest. Throws Error(checkpoint) naming what was found and what was expected.
  explicit ModelFile(std::filesystem::path file);
  ~ModelFile();
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  const std::filesystem::path& path() const { return file_; }
  const nlohmann::json& description() const { return *description_; }

  // A path with the contents of a member, valid while this object lives. They are copied into memory. Throws
  // Error(checkpoint) if there is no such member.
  std::filesystem::path open(const std::string& member);

  // Whether open() returned this path.
  bool has_opened(const std::filesystem::path& path) const;

  // The files of the model by parameter, opened.
  std::map<std::string, std::filesystem::path> open_files();

  // Names the file and the member in place of such paths.
  std::string name_members(std::string message) const;

 private:
  struct Opened {
    support::FileDescriptor memory;
    std::filesystem::path path;
  };
  struct Archive;
  std::filesystem::path file_;
  std::unique_ptr<Archive> archive_;
  std::unique_ptr<nlohmann::json> description_;
  std::map<std::string, Opened> opened_;
};

}  // namespace tenon::pipeline
