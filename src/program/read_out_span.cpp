#include "program/read_out_span.h"

namespace linnet {
namespace {

Json metadata_of(std::int64_t rows, std::int64_t width) {
  if (!Telemetry::instance().active()) return {};
  Json shape = Json::array();
  shape.push_back(rows);
  shape.push_back(width);
  Json metadata = Json::object();
  metadata.set("shape", std::move(shape)).set("dtype", "f32").set("byte_size", rows * width * 4);
  return metadata;
}

}  // namespace

TelemetrySpan read_out_span(std::int64_t rows, std::int64_t width) {
  return TelemetrySpan("to_binary", metadata_of(rows, width));
}

}  // namespace linnet
