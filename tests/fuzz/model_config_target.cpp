// config.json: a configuration that is accepted becomes a program.
#include "base/json.h"
#include "fuzz/target.h"
#include "model/build_program.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace linnet;
  fuzz::accepts([&] {
    const Json json = Json::parse(fuzz::text_of(data, size), "fuzz");
    const ModelConfig config = ModelConfig::from_json(json, "config.json");
    fuzz::expect(config.layers == static_cast<std::int64_t>(config.layer_has_rope.size()) &&
                     config.layers == static_cast<std::int64_t>(config.layer_window.size()),
                 "every layer has its settings");
    // Thousands of layers are a legal, slow program.
    if (config.layers <= 64) build_program(config);
  });
  return 0;
}
