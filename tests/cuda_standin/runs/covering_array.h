// Chooses few combinations of the values of factors.
#pragma once

#include <functional>
#include <random>
#include <vector>

namespace tenon::standin {

using Combination = std::vector<int>;  // the value of each factor; -1: none yet

struct Factors {
  std::vector<int> sizes;  // the number of values of each
  // Whether value `v` of factor `f` fits value `w` of factor `g`; f < g.
  std::function<bool(int f, int v, int g, int w)> fits;
};

// Sets the factors without a value, in a random order, to values that fit all others. Values with the largest gain are
// tried first, equal ones in a random order. Returns false if no values fit.
using Gain = std::function<int(const Combination& combination, int factor, int value)>;
bool complete(const Factors& factors, Combination& combination, std::mt19937& random, const Gain& gain);

// Returns combinations that fit. Together they have each pair of values of two factors that any combination has: a
// covering array of strength 2 (Cohen et al., "The AETG System", 1997). The same seed gives the same ones.
std::vector<Combination> cover_pairs(const Factors& factors, unsigned seed);

}  // namespace tenon::standin
