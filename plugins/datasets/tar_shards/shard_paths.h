// Lists the files that a path describes.
#pragma once

#include <string>
#include <vector>

namespace tar_shards {

// A folder lists its .tar files in byte order, without hidden ones. A path that exists is
// one file. Braces after the last existing folder of a path are expanded from left to right as in a shell: {000..009},
// with leading zeros kept, or {a,b}. Any other path is one file. Throws tenon::DataError
// naming the path: a folder that cannot be listed, has no .tar file or has compressed ones, or invalid braces. A
// missing file is reported when it is opened.
std::vector<std::string> list_shards(const std::string& path);

}  // namespace tar_shards
