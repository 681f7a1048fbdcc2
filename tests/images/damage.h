// Ways in which files get damaged, or are made to do harm.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

enum class Damage { flipped_bits, cut, spliced, left_out, repeated, vast_size };

const char* name_of(Damage damage);

struct DamagedBase {
  std::string extension;  // ".jpg", ".png", ".webp", ".tiff", ".bmp", ".pbm", ".pgm" or ".ppm"
  std::vector<uint8_t> bytes;
};

struct DamagedFile {
  std::string extension;
  Damage damage;
  std::vector<uint8_t> bytes;
};

// One of the files with one kind of damage. A cut one is shorter by a byte at least; vast_size changes width or height
// in the header and keeps the header's checksum right, mostly so that the size fits memory but not the pixels.
DamagedFile damage(const std::vector<DamagedBase>& bases, std::mt19937& random);
