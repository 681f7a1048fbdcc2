// A Parquet file with columns from the names of its folders.
#pragma once

#include <memory>
#include <vector>

#include "plugins/datasets/parquet/list_files.h"
#include "plugins/datasets/parquet/parquet_file.h"

namespace parquet_dataset {

// Adds a column for each partition to those of the file: numbers, or texts. Columns of the file with the same name
// stay. Returns the file itself if there is none to add. Throws tenon::DataError naming the row of a column with the
// same name and another value.
std::unique_ptr<const ParquetFile> add_partitions(std::unique_ptr<const ParquetFile> file,
                                                  const std::vector<Partition>& partitions);

}  // namespace parquet_dataset
