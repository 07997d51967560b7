#include "text/output_ids.h"

#include <utility>

namespace linnet {

std::vector<OutputDelta> OutputIdParser::push(TokenId id) {
  return parser_.push(decoder_.push(id));
}

std::vector<OutputDelta> OutputIdParser::finish(OutputEnd end) {
  std::vector<OutputDelta> deltas = parser_.push(decoder_.flush());
  for (OutputDelta& delta : parser_.finish(end)) deltas.push_back(std::move(delta));
  return deltas;
}

}  // namespace linnet
