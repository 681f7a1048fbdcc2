// The parameters of the dataset `parquet` for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/datasets/opened_dataset.h"

// Those of a small dataset without transforms, with these changes.
inline ParamValues make_parquet_params(const std::filesystem::path& path, const ParamValues& changes = {}) {
  using Texts = std::vector<std::string>;
  ParamValues params = {{"path", path.string()},
                        {"split", ""},
                        {"part", "all"},
                        {"validation_fraction", 0.5},
                        {"columns", Texts{}},
                        {"labels", Texts{}},
                        {"classes", Texts{}},
                        {"multi_hot", Texts{}},
                        {"features", Texts{}},
                        {"targets", Texts{}},
                        {"text", Texts{}},
                        {"tokenizer", ""},
                        {"max_tokens", int64_t{512}},
                        {"pad_id", int64_t{-1}},
                        {"row_group_bytes", int64_t{1} << 20},
                        {"transforms", Texts{}},
                        {"scaled_decoding", true},
                        {"cache", "none"},
                        {"cache_bytes", int64_t{1} << 30},
                        {"cache_dir", ""},
                        {"max_pixels", int64_t{1000}}};
  for (const auto& [name, value] : changes) params[name] = value;
  return params;
}
