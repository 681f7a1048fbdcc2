// Which files a path means.
#pragma once

#include <string>
#include <vector>

namespace tar_shards {

// A folder: its .tar files in byte order, without hidden ones. A path with braces: each of {000..009}, whose numbers
// keep their zeros, and of {a,b}, from left to right as a shell has them. Else the one file. Throws tenon::DataError
// naming the path: a folder that cannot be listed, has no .tar file or has compressed ones, or braces that make no
// sense. Whether a file is there shows when it is opened.
std::vector<std::string> list_shards(const std::string& path);

}  // namespace tar_shards
