// Ways to damage bytes, whatever they mean.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace geiger::fuzz {

/// Flips 1 to 16 bits of [first, last).
void flip_bits(std::string& bytes, std::uint64_t first, std::uint64_t last,
               std::mt19937_64& random);

/// Puts a number that breaks careless sums (0, the largest of each width and its
/// neighbours, powers of 2) at `at`, as far as there is room.
void write_hostile_word(std::string& bytes, std::uint64_t at, std::mt19937_64& random);

/// Overwrites what is at `at` with a block from elsewhere, or with zeros.
void copy_block(std::string& bytes, std::uint64_t at, std::mt19937_64& random);

/// Inserts such a block: everything behind it moves.
void insert_block(std::string& bytes, std::uint64_t at, std::mt19937_64& random);

}  // namespace geiger::fuzz
