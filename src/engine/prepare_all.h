// Prepares many inputs; an input that is refused is named by its number.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"

namespace linnet {

template <typename Pipeline, typename Input>
auto prepare_all(const Pipeline& pipeline, std::span<const Input> inputs) {
  std::vector<typename Pipeline::Prepared> prepared;
  prepared.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    try {
      prepared.push_back(pipeline.prepare(inputs[i]));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("input {}: {}", i, error.what()));
    }
  }
  return prepared;
}

}  // namespace linnet
