#include "plugins/datasets/tar_shards/shard_index.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/strings.h"
#include "plugins/datasets/shared/check_fields.h"
#include "plugins/datasets/shared/find_files.h"

namespace tar_shards {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxShards = 1'000'000;

bool is_compressed_tar(std::string_view name) {
  constexpr std::string_view kEndings[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<std::string> list_folder(const fs::path& folder) {
  std::vector<std::string> shards;
  datasets::visit_folder(folder, "a folder of .tar files", [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().native();
    if (name.front() == '.') return;
    if (is_compressed_tar(name)) {
      throw tenon::DataError(entry.path().native() +
                             ": is compressed; expected plain .tar files; uncompress it, or "
                             "remove it from the folder");
    }
    if (entry.path().extension() == ".tar") shards.push_back(entry.path().native());
  });
  std::sort(shards.begin(), shards.end());
  if (shards.empty()) throw tenon::DataError(folder.native() + ": holds no .tar file; expected one or more");
  return shards;
}

[[noreturn]] void refuse_braces(const std::string& path, std::string_view braces) {
  throw tenon::DataError(path + ": the braces {" + std::string(braces) +
                         "} name no files; expected a range such as {000000..000009}, or a list such as {a,b}");
}

// Parses a number that may have leading zeros.
int64_t number_of(std::string_view text, const std::string& path, std::string_view braces) {
  const std::optional<int64_t> number = formats::parse_number<int64_t>(text);
  if (!number || *number < 0) refuse_braces(path, braces);
  return *number;
}

std::vector<std::string> expand_range(std::string_view braces, size_t dots, const std::string& path) {
  const std::string_view first = braces.substr(0, dots);
  const std::string_view last = braces.substr(dots + 2);
  const int64_t begin = number_of(first, path, braces);
  const int64_t end = number_of(last, path, braces);
  if (end < begin || end - begin >= static_cast<int64_t>(kMaxShards)) refuse_braces(path, braces);
  const bool is_padded = first.size() > 1 && first.front() == '0';
  std::vector<std::string> texts;
  for (int64_t number = begin; number <= end; ++number) {
    std::string text = std::to_string(number);
    if (is_padded && text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
    texts.push_back(std::move(text));
  }
  return texts;
}

std::vector<std::string> expand_list(std::string_view braces, const std::string& path) {
  if (braces.find(',') == std::string_view::npos) refuse_braces(path, braces);
  const std::vector<std::string_view> texts = formats::split(braces, ',');
  return {texts.begin(), texts.end()};
}

// Expands `text` from its first braces on. `path` is the whole path, for messages.
std::vector<std::string> expand(const std::string& text, const std::string& path) {
  const size_t open = text.find('{');
  if (open == std::string::npos) return {text};
  const size_t close = text.find('}', open);
  if (close == std::string::npos) {
    throw tenon::DataError(path + ": has a { without a }; expected a range such as {000000..000009}");
  }
  const std::string_view braces = std::string_view(text).substr(open + 1, close - open - 1);
  const size_t dots = braces.find("..");
  const auto middles = dots == std::string_view::npos ? expand_list(braces, path) : expand_range(braces, dots, path);
  const std::vector<std::string> ends = expand(text.substr(close + 1), path);
  if (middles.size() * ends.size() > kMaxShards) refuse_braces(path, braces);
  std::vector<std::string> texts;
  for (const std::string& middle : middles) {
    for (const std::string& end : ends) texts.push_back(text.substr(0, open) + middle + end);
  }
  return texts;
}

struct SplitName {
  std::string_view key;  // includes the folder
  std::string extension;
};

// Returns no value for a member that is not part of a sample.
std::optional<SplitName> split_name(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return std::nullopt;
  const std::string_view stem = name.substr(base, dot - base);
  if (stem.size() > 4 && stem.starts_with("__") && stem.ends_with("__")) return std::nullopt;
  std::string extension(name.substr(dot + 1));
  // JPG becomes jpg. The part before the last dot is the field's name and stays.
  for (size_t i = extension.rfind('.') + 1; i < extension.size(); ++i) {
    if (extension[i] >= 'A' && extension[i] <= 'Z') extension[i] = static_cast<char>(extension[i] - 'A' + 'a');
  }
  return SplitName{name.substr(0, dot), std::move(extension)};
}

std::string describe(const std::string& path, const TarMember& member) {
  return path + ": member \"" + printable(member.name) + "\" at byte " + std::to_string(member.content);
}

// "2024.jpg" in "photo.2024.jpg" and "final.jpg" in "photo.final.jpg": the latter may be meant as a field.
std::string explain_dots(const std::string& key, const std::vector<std::string>& extensions) {
  const auto has_dot = [](const std::string& extension) { return extension.find('.') != std::string::npos; };
  const auto found = std::find_if(extensions.begin(), extensions.end(), has_dot);
  if (found == extensions.end()) return "";
  return "; the name of a sample ends at its first dot, so \"" + printable(key) + '.' + printable(*found) +
         "\" is the member ." + printable(*found) + " of \"" + printable(key) +
         "\"; replace other dots in the names of samples, for example by _";
}

// Whether the members of one sample are probably those of several: they differ in a number.
bool are_several_samples(const std::vector<std::string>& extensions) {
  const auto is_numbered = [](const std::string& extension) {
    const size_t dot = extension.rfind('.');
    return dot != std::string::npos && extension.find_first_not_of("0123456789.-_") >= dot;
  };
  return std::count_if(extensions.begin(), extensions.end(), is_numbered) > 1;
}

size_t count_of(const ShardIndex::Column& column) {
  return std::visit([](const auto& kind) { return kind.size(); }, column);
}

// Returns how many shards may stay open: half of the process's file limit, because other datasets need files too.
size_t max_open_shards() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 512;
  return static_cast<size_t>(limit.rlim_cur / 2);
}

}  // namespace

std::vector<std::string> list_shards(const std::string& path) {
  if (datasets::is_folder(path)) return list_folder(path);
  const auto [existing, pattern] = datasets::split_pattern(path);
  std::vector<std::string> shards = expand(pattern, path);
  for (std::string& shard : shards) shard.insert(0, existing);
  return shards;
}

// The members of the current sample so far.
struct ShardIndex::Group {
  std::string key;
  uint64_t begin = 0;
  std::vector<std::string> extensions;
};

ShardIndex::ShardIndex(const std::vector<std::string>& paths, const std::vector<std::string>& fields,
                       const std::vector<std::string>& classes) {
  const size_t max_open = max_open_shards();
  for (const std::string& path : paths) {
    shards_.emplace_back(path, shards_.size() < max_open ? ShardFile::Keep::open : ShardFile::Keep::closed);
  }
  add_fields(fields, classes);
  for (const ShardFile& shard : shards_) {
    add_shard(shard);
    shard_ends_.push_back(size());
  }
}

void ShardIndex::add_fields(const std::vector<std::string>& texts, const std::vector<std::string>& classes) {
  const Group first = texts.empty() ? read_first_sample() : Group();
  for (ShardField& field : texts.empty() ? guess(first) : parse_fields(texts)) {
    Column column = ImageColumn();
    if (field.kind == ShardField::Kind::array) column = ArrayColumn();
    if (field.kind == ShardField::Kind::label) column = LabelColumn(field, classes);
    fields_.push_back({std::move(field), std::move(column)});
  }
  std::vector<std::string> names;
  for (const Field& field : fields_) names.push_back(field.field.name);
  datasets::check_fields(names, shards_.front().path(), "kinds of members that become fields",
                         "list some of them in the parameter \"fields\"");
  if (!fields_.empty()) return;
  const std::string found = first.extensions.empty() ? "no member" : '.' + formats::join(first.extensions, ", .");
  throw tenon::DataError(shards_.front().path() + ": its first sample has " + found +
                         "; expected an image, .npy or .cls; list the fields in the parameter \"fields\"");
}

std::vector<ShardField> ShardIndex::guess(const Group& first) {
  try {
    return guess_fields(first.extensions);
  } catch (const tenon::Error& error) {
    throw tenon::Error(error.status(), error.what() + explain_dots(first.key, first.extensions));
  }
}

ShardIndex::Group ShardIndex::read_first_sample() const {
  for (const ShardFile& shard : shards_) {
    TarReader reader(shard);
    Group group;
    bool is_only = true;
    while (const std::optional<TarMember> member = reader.next()) {
      const std::optional<SplitName> name = split_name(member->name);
      if (!name) continue;
      is_only = group.extensions.empty() || name->key == group.key;
      if (!is_only) break;
      group.key = name->key;
      auto& known = group.extensions;
      if (std::find(known.begin(), known.end(), name->extension) == known.end()) known.push_back(name->extension);
    }
    if (is_only && are_several_samples(group.extensions))
      throw tenon::DataError(shard.path() + ": all its members are of one sample, \"" + printable(group.key) + '"' +
                             explain_dots(group.key, group.extensions) +
                             ", or list the fields in the parameter \"fields\"");
    if (!group.extensions.empty()) return group;
  }
  throw tenon::DataError(shards_.front().path() + ": holds no sample" +
                         (shards_.size() > 1 ? ", and neither do the other shards" : "") +
                         "; expected members such as 000000.jpg and 000000.cls");
}

void ShardIndex::add_shard(const ShardFile& shard) {
  TarReader reader(shard);
  Group group;
  std::vector<uint64_t> begins;
  while (const std::optional<TarMember> member = reader.next()) {
    if (member->name == kClassNamesMember) add_classes(reader, *member);
    std::optional<SplitName> name = split_name(member->name);
    if (!name) continue;
    if (group.extensions.empty() || name->key != group.key) {
      finish(group, shard, begins);
      group.key = name->key;
      group.begin = member->header;
      group.extensions.clear();
    }
    group.extensions.push_back(std::move(name->extension));
    add_member(reader, *member, group);
  }
  finish(group, shard, begins);
  check_keys(shard, begins);
}

void ShardIndex::add_member(TarReader& reader, const TarMember& member, Group& group) {
  for (Field& field : fields_) {
    const auto& extensions = field.field.extensions;
    const auto found = std::find(extensions.begin(), extensions.end(), group.extensions.back());
    if (found == extensions.end()) continue;
    const std::string place = describe(reader.path(), member);
    if (count_of(field.column) > size()) {
      throw tenon::DataError(place + ": the sample \"" + printable(group.key) + "\" has the field \"" +
                             field.field.name + "\" twice; expected " + field.field.describe_members());
    }
    const auto alternative = static_cast<uint8_t>(found - extensions.begin());
    if (auto* images = std::get_if<ImageColumn>(&field.column)) images->add(member, alternative);
    if (auto* arrays = std::get_if<ArrayColumn>(&field.column)) arrays->add(reader, member, alternative, place);
    if (auto* labels = std::get_if<LabelColumn>(&field.column)) labels->add(reader, member, place);
  }
}

void ShardIndex::add_classes(TarReader& reader, const TarMember& member) {
  const std::string place = describe(reader.path(), member);
  NamedClasses found = read_class_names(reader, member, place);
  if (!classes_) {
    classes_ = std::move(found);
    classes_place_ = place;
  } else if (found != *classes_) {
    throw tenon::DataError(place + ": names other classes than " + classes_place_ +
                           "; expected shards of one dataset: pack them together, or read them as separate datasets");
  }
}

std::vector<std::string> ShardIndex::class_names(const ShardField& field) const {
  if (!classes_) return {};
  const std::string& extension = field.extensions.front();
  const auto found = classes_->find(extension.substr(0, extension.rfind('.')));
  return found == classes_->end() ? std::vector<std::string>() : found->second;
}

void ShardIndex::finish(const Group& group, const ShardFile& shard, std::vector<uint64_t>& begins) {
  if (group.extensions.empty()) return;
  for (const Field& field : fields_) {
    if (count_of(field.column) > size()) continue;
    throw tenon::DataError(shard.path() + ": the sample \"" + printable(group.key) + "\" at byte " +
                           std::to_string(group.begin) + " has ." + printable(formats::join(group.extensions, ", .")) +
                           "; expected " + field.field.describe_members() + " for the field \"" + field.field.name +
                           "\"; the members of a sample must be adjacent; create the archive with tar --sort=name" +
                           explain_dots(group.key, group.extensions));
  }
  keys_ += group.key;
  key_ends_.push_back(keys_.size());
  begins.push_back(group.begin);
}

// `begins` has the offset of each sample of the shard. Sorting needs less memory than a set of the names.
void ShardIndex::check_keys(const ShardFile& shard, const std::vector<uint64_t>& begins) const {
  const size_t first = size() - begins.size();
  std::vector<size_t> order(begins.size());
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) { return key_of(a) < key_of(b); });
  const auto twin =
      std::adjacent_find(order.begin(), order.end(), [this](size_t a, size_t b) { return key_of(a) == key_of(b); });
  if (twin == order.end()) return;
  throw tenon::DataError(shard.path() + ": the sample \"" + printable(key_of(*twin)) + "\" begins at byte " +
                         std::to_string(begins[twin[0] - first]) + " and again at byte " +
                         std::to_string(begins[twin[1] - first]) +
                         "; expected the members of a sample next to each other, and different names for different "
                         "samples; create the archive with tar --sort=name, or rename the samples");
}

const ShardFile& ShardIndex::shard_of(size_t sample) const {
  const auto end = std::upper_bound(shard_ends_.begin(), shard_ends_.end(), sample);
  return shards_[static_cast<size_t>(end - shard_ends_.begin())];
}

std::string_view ShardIndex::key_of(size_t sample) const {
  const uint64_t begin = sample == 0 ? 0 : key_ends_[sample - 1];
  return std::string_view(keys_).substr(begin, key_ends_[sample] - begin);
}

std::string ShardIndex::describe_member(size_t sample, const ShardField& field, const Stored& stored) const {
  return shard_of(sample).path() + ": member \"" + printable(key_of(sample)) + '.' +
         printable(field.extensions[stored.alternative]) + "\" at byte " + std::to_string(stored.offset);
}

uint64_t ShardIndex::hash() const {
  formats::ContentHash hash;
  hash.add(keys_);
  for (const Field& field : fields_) {
    for (size_t i = 0; i < size(); ++i) {
      if (const auto* labels = std::get_if<LabelColumn>(&field.column)) {
        hash.add(static_cast<uint64_t>(labels->at(i)));
      } else if (const auto* arrays = std::get_if<ArrayColumn>(&field.column)) {
        hash.add(shard_of(i).file(), arrays->at(i).offset, arrays->at(i).size);
      } else {
        hash.add(std::get<ImageColumn>(field.column).at(i).size);
      }
    }
  }
  for (const ShardFile& shard : shards_) hash.add(shard.file(), 0, shard.size());
  return hash.value();
}

}  // namespace tar_shards
