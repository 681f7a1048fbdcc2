// The parameters of the dataset `parquet` for tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/datasets/opened_dataset.h"

// Those of a small dataset without transforms, with these changes.
inline ParamValues make_parquet_params(const std::filesystem::path& path, const ParamValues& changes = {}) {
  return with_changes({{"path", path.string()},
                       {"split", ""},
                       {"part", "all"},
                       {"validation_fraction", 0.5},
                       {"labels", std::vector<std::string>{}},
                       {"max_tokens", int64_t{512}},
                       {"pad_id", int64_t{-1}},
                       {"row_group_bytes", int64_t{1} << 20},
                       {"max_pixels", int64_t{1000}}},
                      changes);
}
