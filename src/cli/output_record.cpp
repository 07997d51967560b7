#include "cli/output_record.h"

namespace linnet {
namespace {

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

}  // namespace

Json tool_calls_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls) {
    Json entry = Json::object();
    entry.set("name", call.name);
    entry.set("arguments", call.arguments);
    list.push_back(std::move(entry));
  }
  return list;
}

Json output_json(const ParsedOutput& output) {
  Json json = Json::object();
  json.set("reasoning", optional_text(output.reasoning));
  json.set("content", optional_text(output.content));
  json.set("tool_calls", tool_calls_json(output.tool_calls));
  json.set("parse_error", output.parse_error);
  json.set("finish", output.finish);
  return json;
}

}  // namespace linnet
