// Damages files at random, or makes them harmful.
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

// Returns one of the files with one kind of damage. A cut file is at least one byte shorter. vast_size changes width or
// height in the header and corrects the header's checksum. The size then usually fits in memory, but the pixels do not.
DamagedFile damage(const std::vector<DamagedBase>& bases, std::mt19937& random);
