// Tests that a path that exists is that path, whatever characters it has, in every dataset that expands patterns.
#include "plugins/datasets/shared/find_files.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "plugins/datasets/parquet/list_files.h"
#include "plugins/datasets/tar_shards/shard_index.h"
#include "tests/datasets/written_images.h"

namespace path_pattern_test {

namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

// Relative to `root`, sorted.
template <class Path>
Texts names_of(const std::vector<Path>& paths, const fs::path& root) {
  Texts names;
  for (const Path& path : paths) {
    if constexpr (std::is_same_v<Path, std::string>)
      names.push_back(fs::path(path).lexically_relative(root).native());
    else
      names.push_back(fs::path(path.path).lexically_relative(root).native());
  }
  std::sort(names.begin(), names.end());
  return names;
}

constexpr const char* kFolders[] = {"w[1]", "a{b}", "x*", "what?", "{a,b}", "{0..3}", "back\\slash", "[", "{", "plain"};

}  // namespace

TEST_CASE("only what follows the last existing folder of a path is a pattern") {
  for (const std::string folder : kFolders) {
    CAPTURE(folder);
    const fs::path root = make_empty_folder("patterns/" + folder);
    for (const char* file : {"t-0.tar", "t-1.tar", "t-0.parquet", "t-1.parquet", "t-0.txt", "t-1.txt"})
      write_file(root / file, {'a'});
    const auto at = [&](const std::string& name) { return (root / name).string(); };
    CHECK(names_of(parquet_dataset::list_files(at("t-*.parquet"), ""), root) == Texts{"t-0.parquet", "t-1.parquet"});
    CHECK(names_of(parquet_dataset::list_files(at("t-{0,1}.parquet"), ""), root) ==
          Texts{"t-0.parquet", "t-1.parquet"});
    CHECK(names_of(parquet_dataset::list_files(at("t-1.parquet"), ""), root) == Texts{"t-1.parquet"});
    CHECK(names_of(parquet_dataset::list_files(root.string(), ""), root) == Texts{"t-0.parquet", "t-1.parquet"});
    CHECK(names_of(tar_shards::list_shards(at("t-{0..1}.tar")), root) == Texts{"t-0.tar", "t-1.tar"});
    CHECK(names_of(tar_shards::list_shards(at("t-0.tar")), root) == Texts{"t-0.tar"});
    CHECK(names_of(tar_shards::list_shards(root.string()), root) == Texts{"t-0.tar", "t-1.tar"});
    CHECK(names_of(datasets::match_files(at("t-[01].txt"), 0), root) == Texts{"t-0.txt", "t-1.txt"});
    CHECK(names_of(datasets::match_files(at("t-1.txt"), 0), root) == Texts{"t-1.txt"});
  }
}

TEST_CASE("a file with the name of a pattern is that file, although others match it") {
  const fs::path root = make_empty_folder("pattern_names");
  write_file(root / "book[1].txt", {'a'});
  write_file(root / "book1.txt", {'b'});
  write_file(root / "p{a,b}.parquet", {'a'});
  write_file(root / "pa.parquet", {'a'});
  write_file(root / "s{0..1}.tar", {'a'});
  write_file(root / "s0.tar", {'a'});
  CHECK(names_of(datasets::match_files((root / "book[1].txt").string(), 0), root) == Texts{"book[1].txt"});
  CHECK(names_of(parquet_dataset::list_files((root / "p{a,b}.parquet").string(), ""), root) == Texts{"p{a,b}.parquet"});
  CHECK(names_of(tar_shards::list_shards((root / "s{0..1}.tar").string()), root) == Texts{"s{0..1}.tar"});
  fs::remove(root / "book[1].txt");
  CHECK(names_of(datasets::match_files((root / "book[1].txt").string(), 0), root) == Texts{"book1.txt"});
}

TEST_CASE("braces may contain folders") {
  const fs::path root = make_empty_folder("brace_folders");
  for (const char* file : {"a/x.tar", "b/x.tar", "a/x.parquet", "b/x.parquet"}) write_file(root / file, {'a'});
  CHECK(names_of(tar_shards::list_shards((root / "{a,b}/x.tar").string()), root) == Texts{"a/x.tar", "b/x.tar"});
  CHECK(names_of(tar_shards::list_shards((root / "{a/x,b/x}.tar").string()), root) == Texts{"a/x.tar", "b/x.tar"});
  CHECK(names_of(parquet_dataset::list_files((root / "*/x.parquet").string(), "all"), root) ==
        Texts{"a/x.parquet", "b/x.parquet"});
}

}  // namespace path_pattern_test
