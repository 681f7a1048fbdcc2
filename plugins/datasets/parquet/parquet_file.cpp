#include "plugins/datasets/parquet/parquet_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/float16.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>
#include <tenon/error.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/regular_file.h"

namespace parquet_dataset {
namespace {

using arrow::Type;
using Kind = Column::Kind;

constexpr const char* kExpected = "a Parquet file";
constexpr int64_t kMaxRows = int64_t{1} << 36;  // of a row group, so that no sum of them overflows
constexpr const char* kDamaged = "; the file is damaged or incomplete; copy or write it again";

// Runs `read`, and turns the errors of Arrow into data errors that begin with `place`.
template <class Read>
auto with_place(const std::string& place, Read&& read) {
  try {
    return read();
  } catch (const tenon::Error&) {
    throw;
  } catch (const std::exception& error) {
    throw tenon::DataError(place + ": " + error.what() + kDamaged);
  }
}

template <class T>
T take(arrow::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().message());
  return result.MoveValueUnsafe();
}

// Reads with pread, so that a file that is shortened during a run is an error and not a signal.
class FileSource final : public arrow::io::RandomAccessFile {
 public:
  explicit FileSource(const formats::RegularFile& file) : file_(file) {}

  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return is_closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override {
    if (position < 0) return arrow::Status::Invalid("a negative offset");
    position_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> GetSize() override { return static_cast<int64_t>(file_.size()); }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override {
    const int64_t size = static_cast<int64_t>(file_.size());
    if (position < 0 || count < 0 || position > size) return arrow::Status::Invalid("a range outside of the file");
    count = std::min(count, size - position);
    file_.read(static_cast<uint64_t>(position), {static_cast<uint8_t*>(out), static_cast<size_t>(count)});
    return count;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override {
    const int64_t size = static_cast<int64_t>(file_.size());
    if (position < 0 || count < 0 || position > size) return arrow::Status::Invalid("a range outside of the file");
    count = std::min(count, size - position);  // before the allocation: a damaged footer may name any size
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(count));
    file_.read(static_cast<uint64_t>(position), {buffer->mutable_data(), static_cast<size_t>(count)});
    return buffer;
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, count, out));
    position_ += read;
    return read;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, count));
    position_ += buffer->size();
    return buffer;
  }

 private:
  const formats::RegularFile& file_;
  int64_t position_ = 0;
  bool is_closed_ = false;
};

// 0 for a type that does not become a field.
int32_t dtype_of(const arrow::DataType& type) {
  switch (type.id()) {
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32: return TENON_INT64;
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE: return TENON_FLOAT32;
    case Type::BOOL: return TENON_BOOL;
    default: return 0;
  }
}

bool holds_bytes(const arrow::DataType& type) {
  return type.id() == Type::BINARY || type.id() == Type::LARGE_BINARY || type.id() == Type::BINARY_VIEW;
}

bool holds_text(const arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY) return holds_text(*static_cast<const arrow::DictionaryType&>(type).value_type());
  return type.id() == Type::STRING || type.id() == Type::LARGE_STRING || type.id() == Type::STRING_VIEW;
}

Column describe(const arrow::Field& field) {
  const arrow::DataType& type = *field.type();
  Column column{field.name(), type.ToString()};
  if (const int32_t dtype = dtype_of(type); dtype != 0) {
    column.kind = Kind::number;
    column.dtype = dtype;
  } else if (holds_text(type)) {
    column.kind = Kind::text;
  } else if (holds_bytes(type)) {
    column.kind = Kind::bytes;
  } else if (type.id() == Type::STRUCT) {
    const auto bytes = static_cast<const arrow::StructType&>(type).GetFieldByName("bytes");
    // A column of nulls, where images are stored as paths, has no type. Reading it reports that.
    if (bytes && (holds_bytes(*bytes->type()) || bytes->type()->id() == Type::NA)) column.kind = Kind::bytes;
  } else if (type.id() == Type::LIST || type.id() == Type::LARGE_LIST || type.id() == Type::FIXED_SIZE_LIST) {
    column.dtype = dtype_of(*type.field(0)->type());
    if (column.dtype != 0) column.kind = Kind::list;
    const arrow::DataType& element = *type.field(0)->type();
    if (holds_text(element) && element.id() != Type::DICTIONARY) column.kind = Kind::texts;
    if (type.id() == Type::FIXED_SIZE_LIST)
      column.length = static_cast<const arrow::FixedSizeListType&>(type).list_size();
  }
  return column;
}

// Appends the numbers of the columns in the file that the field needs.
void append_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  // The path of a Hugging Face image is not needed.
  const bool is_struct = field.field->type()->id() == Type::STRUCT;
  for (const parquet::arrow::SchemaField& child : field.children)
    if (!is_struct || child.field->name() == "bytes") append_leaves(child, leaves);
}

template <class Array, class Out>
void convert(const arrow::Array& values, int64_t begin, int64_t count, void* out) {
  const auto* from = static_cast<const Array&>(values).raw_values() + begin;
  std::transform(from, from + count, static_cast<Out*>(out), [](auto value) { return static_cast<Out>(value); });
}

void convert_doubles(const arrow::Array& values, int64_t begin, int64_t count, float* out) {
  const double* from = static_cast<const arrow::DoubleArray&>(values).raw_values() + begin;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(from[i]);
    if (std::isinf(out[i]) && !std::isinf(from[i])) {
      throw tenon::DataError("the number " + std::to_string(from[i]) +
                             " is too large for float32; expected at most 3.4e38; scale the column");
    }
  }
}

void convert_halves(const arrow::Array& values, int64_t begin, int64_t count, float* out) {
  const uint16_t* from = static_cast<const arrow::HalfFloatArray&>(values).raw_values() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = arrow::util::Float16::FromBits(from[i]).ToFloat();
}

void convert_numbers(const arrow::Array& values, int64_t begin, int64_t count, void* out) {
  switch (values.type_id()) {
    case Type::INT8: return convert<arrow::Int8Array, int64_t>(values, begin, count, out);
    case Type::INT16: return convert<arrow::Int16Array, int64_t>(values, begin, count, out);
    case Type::INT32: return convert<arrow::Int32Array, int64_t>(values, begin, count, out);
    case Type::INT64: return convert<arrow::Int64Array, int64_t>(values, begin, count, out);
    case Type::UINT8: return convert<arrow::UInt8Array, int64_t>(values, begin, count, out);
    case Type::UINT16: return convert<arrow::UInt16Array, int64_t>(values, begin, count, out);
    case Type::UINT32: return convert<arrow::UInt32Array, int64_t>(values, begin, count, out);
    case Type::FLOAT: return convert<arrow::FloatArray, float>(values, begin, count, out);
    case Type::DOUBLE: return convert_doubles(values, begin, count, static_cast<float*>(out));
    case Type::HALF_FLOAT: return convert_halves(values, begin, count, static_cast<float*>(out));
    default: break;
  }
  const auto& truths = static_cast<const arrow::BooleanArray&>(values);
  for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(out)[i] = truths.Value(begin + i);
}

std::string_view text_of(const arrow::Array& values, int64_t i) {
  switch (values.type_id()) {
    case Type::STRING:
    case Type::BINARY: return static_cast<const arrow::BinaryArray&>(values).GetView(i);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return static_cast<const arrow::LargeBinaryArray&>(values).GetView(i);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return static_cast<const arrow::BinaryViewArray&>(values).GetView(i);
    case Type::STRUCT: return text_of(*static_cast<const arrow::StructArray&>(values).field(0), i);
    default: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(values);
      return text_of(*encoded.dictionary(), encoded.GetValueIndex(i));
    }
  }
}

struct Range {
  int64_t begin;
  int64_t count;
};

template <class Visit>
auto visit_lists(const arrow::Array& lists, const Visit& visit) {
  if (lists.type_id() == Type::LIST) return visit(static_cast<const arrow::ListArray&>(lists));
  if (lists.type_id() == Type::LARGE_LIST) return visit(static_cast<const arrow::LargeListArray&>(lists));
  return visit(static_cast<const arrow::FixedSizeListArray&>(lists));
}

// The values of a list, as a range of list_values().
Range list_range(const arrow::Array& lists, int64_t i) {
  return visit_lists(lists, [i](const auto& array) { return Range{array.value_offset(i), array.value_length(i)}; });
}

std::shared_ptr<arrow::Array> list_values(const arrow::Array& lists) {
  return visit_lists(lists, [](const auto& array) { return array.values(); });
}

// The part of a column in one array.
struct Chunk {
  int64_t begin;                         // first row
  std::shared_ptr<arrow::Array> cells;   // one per row
  std::shared_ptr<arrow::Array> values;  // of the lists, or null
};

// Returns the first null cell of a chunk, or -1. A list with a null in it counts, too.
int64_t find_null(const Chunk& chunk) {
  const arrow::Array& cells = *chunk.cells;
  const arrow::Array* inner = nullptr;
  std::shared_ptr<arrow::Array> field;
  if (cells.type_id() == Type::STRUCT) {
    field = static_cast<const arrow::StructArray&>(cells).field(0);
    inner = field.get();
  } else if (cells.type_id() == Type::DICTIONARY) {
    inner = static_cast<const arrow::DictionaryArray&>(cells).dictionary().get();
  } else if (chunk.values) {
    inner = chunk.values.get();
  }
  if (cells.null_count() == 0 && (!inner || inner->null_count() == 0)) return -1;
  for (int64_t row = 0; row < cells.length(); ++row) {
    if (cells.IsNull(row)) return row;
    if (!inner || inner->null_count() == 0) continue;
    Range range{row, 1};
    if (cells.type_id() == Type::DICTIONARY)
      range.begin = static_cast<const arrow::DictionaryArray&>(cells).GetValueIndex(row);
    if (chunk.values) range = list_range(cells, row);
    for (int64_t i = range.begin; i < range.begin + range.count; ++i)
      if (inner->IsNull(i)) return row;
  }
  return -1;
}

class DecodedRows final : public RowGroup {
 public:
  explicit DecodedRows(const arrow::Table& table) {
    for (const std::shared_ptr<arrow::ChunkedArray>& column : table.columns()) {
      std::vector<Chunk>& chunks = columns_.emplace_back();
      int64_t begin = 0;
      for (const std::shared_ptr<arrow::Array>& cells : column->chunks()) {
        const Type::type type = cells->type_id();
        const bool is_list = type == Type::LIST || type == Type::LARGE_LIST || type == Type::FIXED_SIZE_LIST;
        chunks.push_back({begin, cells, is_list ? list_values(*cells) : nullptr});
        begin += cells->length();
      }
      bytes_ += static_cast<uint64_t>(arrow::util::TotalBufferSize(*column));
    }
  }

  // Returns the first row with a null in the column, or -1.
  int64_t first_null(size_t column) const {
    for (const Chunk& chunk : columns_[column])
      if (const int64_t row = find_null(chunk); row >= 0) return chunk.begin + row;
    return -1;
  }

  uint64_t bytes() const override { return bytes_; }

  int64_t list_length(size_t column, int64_t row) const override {
    const Chunk& chunk = find(column, row);
    return list_range(*chunk.cells, row - chunk.begin).count;
  }

  void copy_numbers(size_t column, int64_t row, void* out) const override {
    const Chunk& chunk = find(column, row);
    if (!chunk.values) return convert_numbers(*chunk.cells, row - chunk.begin, 1, out);
    const Range range = list_range(*chunk.cells, row - chunk.begin);
    convert_numbers(*chunk.values, range.begin, range.count, out);
  }

  std::string_view text(size_t column, int64_t row) const override {
    const Chunk& chunk = find(column, row);
    return text_of(*chunk.cells, row - chunk.begin);
  }

  std::string_view list_text(size_t column, int64_t row, int64_t i) const override {
    const Chunk& chunk = find(column, row);
    return text_of(*chunk.values, list_range(*chunk.cells, row - chunk.begin).begin + i);
  }

 private:
  const Chunk& find(size_t column, int64_t row) const {
    const std::vector<Chunk>& chunks = columns_[column];
    const auto after = std::upper_bound(chunks.begin(), chunks.end(), row,
                                        [](int64_t number, const Chunk& chunk) { return number < chunk.begin; });
    return *(after - 1);
  }

  std::vector<std::vector<Chunk>> columns_;
  uint64_t bytes_ = 0;
};

parquet::ReaderProperties reader_properties() {
  parquet::ReaderProperties properties = parquet::default_reader_properties();
  properties.set_page_checksum_verification(true);  // of pages that have a checksum
  return properties;
}

// The data workers are the threads.
parquet::ArrowReaderProperties arrow_properties() {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  return properties;
}

class ArrowFile final : public ParquetFile {
 public:
  ArrowFile(const std::string& path, bool keeps_open)
      : file_(path, kExpected, keeps_open ? formats::RegularFile::Keep::open : formats::RegularFile::Keep::closed) {
    with_place(path, [&] { read_footer(); });
  }

  const std::string& path() const override { return file_.path(); }
  const std::vector<Column>& columns() const override { return columns_; }
  const std::string& huggingface_metadata() const override { return huggingface_metadata_; }
  const std::string& pandas_metadata() const override { return pandas_metadata_; }
  const std::vector<int64_t>& row_groups() const override { return row_groups_; }
  uint64_t footer_hash() const override { return footer_hash_; }

  bool has_uneven_lists(size_t column) const override {
    if (columns_[column].kind != Kind::list) return false;
    return with_place(path(), [&] {
      for (size_t i = 0; i < row_groups_.size(); ++i) {
        const int64_t values =
            metadata_->RowGroup(static_cast<int>(i))->ColumnChunk(leaves_[column].front())->num_values();
        if (row_groups_[i] > 0 && values % row_groups_[i] != 0) return true;
      }
      return false;
    });
  }

  bool counts_nulls(size_t row_group, size_t column) const override {
    if (columns_[column].kind == Kind::list || columns_[column].kind == Kind::texts) return false;
    if (columns_[column].kind == Kind::bytes && columns_[column].type.find("bytes: null") != std::string::npos)
      return true;
    return with_place(path(), [&] {
      const auto group = metadata_->RowGroup(static_cast<int>(row_group));
      return std::any_of(leaves_[column].begin(), leaves_[column].end(), [&](int leaf) {
        const auto statistics = group->ColumnChunk(leaf)->statistics();
        return statistics && statistics->HasNullCount() && statistics->null_count() > 0;
      });
    });
  }

  std::shared_ptr<const RowGroup> read(size_t row_group, int64_t first_row,
                                       const std::vector<size_t>& columns) const override {
    const std::string place = path() + ": row group " + std::to_string(row_group);
    const auto rows = with_place(place, [&] { return decode(row_group, columns); });
    for (size_t i = 0; i < columns.size(); ++i) {
      const int64_t row = rows->first_null(i);
      if (row < 0) continue;
      const Column& column = columns_[columns[i]];
      const std::string place =
          path() + ": row " + std::to_string(first_row + row) + ": the column \"" + column.name + '"';
      if (column.kind == Kind::bytes && column.type.starts_with("struct")) {
        throw tenon::DataError(
            place +
            " is null or has no bytes, perhaps only a path; expected the bytes of each image; embed them: "
            "datasets.Dataset.map with datasets.table.embed_table_storage, or push_to_hub, before to_parquet");
      }
      throw tenon::DataError(place +
                             " is null or has a null; expected a value; remove the row, or leave the column out");
    }
    return rows;
  }

 private:
  void read_footer() {
    check_ends();
    const auto reader = open_reader(nullptr);
    metadata_ = reader->parquet_reader()->metadata();
    for (int i = 0; i < metadata_->num_row_groups(); ++i) {
      const auto group = metadata_->RowGroup(i);
      const int64_t rows = group->num_rows();
      // Each row has at least one value in each column, which may be null.
      const bool has_values = group->num_columns() == 0 || group->ColumnChunk(0)->num_values() >= rows;
      if (rows < 0 || rows > kMaxRows || !has_values)
        throw std::runtime_error("row group " + std::to_string(i) + " has " + std::to_string(rows) + " rows");
      row_groups_.push_back(rows);
    }
    std::set<std::string> names;
    for (const parquet::arrow::SchemaField& field : reader->manifest().schema_fields) {
      columns_.push_back(describe(*field.field));
      append_leaves(field, leaves_.emplace_back());
      if (names.insert(columns_.back().name).second) continue;
      throw tenon::DataError(path() + ": two columns have the name \"" + columns_.back().name +
                             "\"; expected different names; rename one of them");
    }
    const auto pairs = metadata_->key_value_metadata();
    if (!pairs) return;
    if (const auto value = pairs->Get("huggingface"); value.ok()) huggingface_metadata_ = *value;
    if (const auto value = pairs->Get("pandas"); value.ok()) pandas_metadata_ = *value;
  }

  // A file ends with its footer, the footer's size and "PAR1".
  void check_ends() {
    constexpr uint64_t kTail = 8, kSmallest = 12;
    const uint64_t size = file_.size();
    if (size < kSmallest) {
      throw tenon::DataError(path() + ": has " + std::to_string(size) + " bytes; expected " + kExpected + kDamaged);
    }
    const std::vector<uint8_t> start = file_.read(0, 4);
    const std::vector<uint8_t> tail = file_.read(size - kTail, kTail);
    const auto is = [](const uint8_t* bytes, const char* text) { return std::memcmp(bytes, text, 4) == 0; };
    if (is(&tail[4], "PARE")) {
      throw tenon::DataError(path() + ": has an encrypted footer; expected a file without encryption");
    }
    if (!is(start.data(), "PAR1")) {
      throw tenon::DataError(path() + ": does not begin with PAR1; expected a Parquet file; check the path");
    }
    if (!is(&tail[4], "PAR1")) {
      throw tenon::DataError(path() + ": does not end with PAR1; expected a Parquet file" + kDamaged);
    }
    const uint64_t footer = tail[0] | tail[1] << 8 | tail[2] << 16 | uint64_t{tail[3]} << 24;
    if (footer > size - kSmallest) {
      throw tenon::DataError(path() + ": its footer has " + std::to_string(footer) + " bytes, and the file " +
                             std::to_string(size) + kDamaged);
    }
    const std::vector<uint8_t> bytes = file_.read(size - kTail - footer, footer + kTail);
    footer_hash_ = formats::hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                      formats::hash_text(std::to_string(size)));
  }

  std::unique_ptr<parquet::arrow::FileReader> open_reader(std::shared_ptr<parquet::FileMetaData> metadata) const {
    auto raw =
        parquet::ParquetFileReader::Open(std::make_shared<FileSource>(file_), reader_properties(), std::move(metadata));
    return take(parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw), arrow_properties()));
  }

  std::shared_ptr<DecodedRows> decode(size_t row_group, const std::vector<size_t>& columns) const {
    std::vector<int> leaves;
    for (const size_t column : columns) leaves.insert(leaves.end(), leaves_[column].begin(), leaves_[column].end());
    const std::shared_ptr<arrow::Table> table =
        take(open_reader(metadata_)->ReadRowGroup(static_cast<int>(row_group), leaves));
    if (const arrow::Status status = table->ValidateFull(); !status.ok()) throw std::runtime_error(status.message());
    // The reader returns the columns in the order of the file.
    std::vector<std::shared_ptr<arrow::ChunkedArray>> ordered;
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const size_t column : columns) {
      const int at = table->schema()->GetFieldIndex(columns_[column].name);
      if (at < 0 || describe(*table->schema()->field(at)).kind != columns_[column].kind)
        throw std::runtime_error("the column \"" + columns_[column].name + "\" was not read");
      ordered.push_back(table->column(at));
      fields.push_back(table->schema()->field(at));
      if (ordered.back()->length() == row_groups_[row_group]) continue;
      throw std::runtime_error("the column \"" + columns_[column].name + "\" has " +
                               std::to_string(ordered.back()->length()) + " rows; expected " +
                               std::to_string(row_groups_[row_group]));
    }
    return std::make_shared<DecodedRows>(*arrow::Table::Make(arrow::schema(fields), ordered, row_groups_[row_group]));
  }

  formats::RegularFile file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::vector<Column> columns_;
  std::vector<std::vector<int>> leaves_;  // of each column: columns of the file
  std::vector<int64_t> row_groups_;
  std::string huggingface_metadata_;
  std::string pandas_metadata_;
  uint64_t footer_hash_ = 0;
};

}  // namespace

std::unique_ptr<const ParquetFile> ParquetFile::open(const std::string& path, bool keeps_open) {
  return std::make_unique<ArrowFile>(path, keeps_open);
}

}  // namespace parquet_dataset
