// A Parquet file, read by row group. Only parquet_file.cpp includes Apache Arrow. A build without Arrow has
// parquet_file_without_arrow.cpp instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parquet_dataset {

// A top-level column of the table.
struct Column {
  enum class Kind {
    number,  // an integer, a floating-point number or a bool
    list,    // a list of numbers
    text,    // UTF-8, also dictionary-encoded
    texts,   // a list of texts
    bytes,   // bytes, or a struct with a field `bytes`, as Hugging Face stores images
    other,   // cannot be read
  };
  std::string name;
  std::string type;  // as Arrow prints it, for messages
  Kind kind = Kind::other;
  int32_t dtype = 0;          // of numbers and lists: TENON_INT64, TENON_FLOAT32 or TENON_BOOL
  int64_t length = -1;        // of all lists, or -1 if they may differ
  bool is_partition = false;  // of the names of folders

  bool operator==(const Column&) const = default;
};

// The decoded cells of some columns of a row group. Any thread may read them.
class RowGroup {
 public:
  virtual ~RowGroup() = default;
  virtual uint64_t bytes() const = 0;  // of memory
  // `column` is an index into the columns that were read, and `row` counts from the beginning of the row group.
  virtual int64_t list_length(size_t column, int64_t row) const = 0;
  // Copies a number, or the numbers of a list, converted to Column::dtype. Throws tenon::DataError for a number that
  // float32 cannot represent.
  virtual void copy_numbers(size_t column, int64_t row, void* out) const = 0;
  virtual std::string_view text(size_t column, int64_t row) const = 0;                  // of a text or bytes
  virtual std::string_view list_text(size_t column, int64_t row, int64_t i) const = 0;  // of a list of texts
};

class ParquetFile {
 public:
  // Reads the footer. `keeps_open` is false for more files than the process may open. Throws tenon::DataError naming
  // the path if the file is damaged, truncated, encrypted or not Parquet, or if two columns have the same name.
  static std::unique_ptr<const ParquetFile> open(const std::string& path, bool keeps_open);

  virtual ~ParquetFile() = default;
  virtual const std::string& path() const = 0;
  virtual const std::vector<Column>& columns() const = 0;
  // The JSON that Hugging Face's datasets package writes to the metadata of the schema, or "".
  virtual const std::string& huggingface_metadata() const = 0;
  // The JSON that pandas writes to the metadata of the schema, or "".
  virtual const std::string& pandas_metadata() const = 0;
  virtual const std::vector<int64_t>& row_groups() const = 0;  // number of rows of each
  virtual uint64_t footer_hash() const = 0;                    // also of the size of the file

  // Whether the lists of the column differ in length for sure, by the number of their elements.
  virtual bool has_uneven_lists(size_t column) const = 0;

  // Whether the footer says that the column has nulls in this row group. False for lists.
  virtual bool counts_nulls(size_t row_group, size_t column) const = 0;

  // Decodes the columns with these indices. Any thread may call it. `first_row` is the number of the row group's first
  // row in the file, for messages. Throws tenon::DataError naming path, row group, row and column for damaged data and
  // nulls.
  virtual std::shared_ptr<const RowGroup> read(size_t row_group, int64_t first_row,
                                               const std::vector<size_t>& columns) const = 0;
};

}  // namespace parquet_dataset
