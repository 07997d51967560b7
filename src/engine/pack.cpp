#include "engine/pack.h"

#include "base/error.h"
#include "formats/staged_folder.h"
#include "native/native_lane.h"

namespace linnet {

ConvertReport pack_model(const Model& model, const ModelFiles& source,
                         const std::filesystem::path& target, bool overwrite,
                         const std::function<void(double)>& on_progress) {
  const auto* lane = dynamic_cast<const NativeLane*>(&model.lane());
  LINNET_CHECK(lane != nullptr);
  const std::filesystem::path place = checked_target(source, target, overwrite);
  const std::vector<PackedPart> parts = lane->parts();
  ConvertReport report;
  StagedFolder staged(place);
  write_small_files(source, source.config, staged.path(), report);
  write_packed_model(staged.path() / kPackedFile, source.config, parts, lane->pool(), on_progress);
  report.files.emplace_back(kPackedFile);
  report.tensors = parts.size();
  for (const PackedPart& part : parts) report.bytes += part.bytes.size();
  staged.commit(weight_files(place));
  return report;
}

}  // namespace linnet
