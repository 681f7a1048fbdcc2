// Takes the place of parquet_file.cpp in a build without Apache Arrow.
#include <tenon/error.hpp>

#include "plugins/datasets/parquet/parquet_file.h"

namespace parquet_dataset {

std::unique_ptr<const ParquetFile> ParquetFile::open(const std::string& path, bool) {
  throw tenon::Error(TENON_UNSUPPORTED, path +
                                            ": cannot be read, because Tenon was built without Apache Arrow; run "
                                            "scripts/dependencies, or set TENON_ARROW, and build again");
}

}  // namespace parquet_dataset
