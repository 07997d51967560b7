#include "formats/safetensors_writer.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/json.h"
#include "formats/fault.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
#include "formats/temp_folder.h"

namespace linnet {
namespace {

std::vector<OutgoingTensor> outgoing(const std::vector<std::pair<std::string, Shape>>& list) {
  std::vector<OutgoingTensor> tensors;
  float value = 0;
  for (const auto& [name, shape] : list) {
    const std::vector<float> values(static_cast<std::size_t>(element_count(shape, name)), ++value);
    OutgoingTensor tensor;
    tensor.info = {name, DType::f32, shape};
    tensor.load = [filled = Tensor::from_values(shape, values)] { return filled; };
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<std::string> write(const TempFolder& folder, std::vector<OutgoingTensor> tensors,
                               std::uint64_t shard_bytes) {
  TensorOutput output(total_bytes(tensors), {});
  return write_safetensors_model(folder.path(), std::move(tensors), shard_bytes, output);
}

}  // namespace

TEST_CASE("a model that fits is one file, with the format in its metadata") {
  const TempFolder folder;
  CHECK(write(folder, outgoing({{"a", {4}}, {"b", {2, 2}}}), 32) ==
        std::vector<std::string>{"model.safetensors"});
  const auto file = SafetensorsFile::open(folder / "model.safetensors");
  CHECK(file->metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(file->tensor("b").to_floats() == std::vector<float>(4, 2));
}

TEST_CASE("a larger one is cut between tensors, in their order") {
  const TempFolder folder;
  // 16, 8, 8, 40 and 4 bytes into shards of 32: the fourth is larger than a shard.
  const auto files =
      write(folder, outgoing({{"z", {4}}, {"b", {2}}, {"c", {2}}, {"d", {10}}, {"a", {1}}}), 32);
  CHECK(files == std::vector<std::string>{
                     "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                     "model-00003-of-00003.safetensors", "model.safetensors.index.json"});
  const Json index = Json::parse_file((folder / "model.safetensors.index.json").string());
  CHECK(index.at("metadata").at("total_size").as_int() == 76);
  CHECK(index.at("metadata").at("total_parameters").as_int() == 19);
  const Json::Object& map = index.at("weight_map").as_object();
  std::string order;
  for (const auto& [tensor, shard] : map) order += tensor + shard.as_string().substr(10, 1);
  CHECK(order == "a3b1c1d2z1");  // sorted by name, as transformers does

  folder.write("config.json", "{}");
  const ModelFiles read = open_model_files(folder.path());
  CHECK(read.tensor("d").to_floats() == std::vector<float>(10, 4));
  CHECK(read.tensor("a").to_floats() == std::vector<float>(1, 5));
  CHECK(read.notes.empty());
}

TEST_CASE("a name that comes twice is refused across shards too") {
  const TempFolder folder;
  const auto fault = fault_of([&] { write(folder, outgoing({{"a", {8}}, {"a", {8}}}), 32); });
  REQUIRE(fault);
  CHECK(fault->code == ErrorCode::invalid_argument);
  CHECK(fault->mentions("\"a\""));
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace linnet
