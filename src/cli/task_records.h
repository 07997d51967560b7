// Parts that the records and tables of the task commands share.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/task_text.h"

namespace linnet {

// A number as short as reads back to the same f32.
Json json_float(float value);
// "start" and "end" in bytes, "start_character" and "end_character" in characters.
void set_range(Json& record, const TextRange& range);
// Line breaks and tabs as spaces.
std::string one_line(std::string text);

}  // namespace linnet
