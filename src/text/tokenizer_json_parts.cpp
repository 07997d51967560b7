#include "text/tokenizer_json_parts.h"

#include <fmt/core.h>

#include <vector>

namespace linnet {
namespace {

constexpr std::size_t kMaxTemplateItems = 16;

struct KnownExpression {
  std::string_view expression;
  SplitRule split;
};

constexpr KnownExpression kExpressions[] = {
    {R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)re"
     R"re( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     SplitRule::llama3},
    {R"re((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)re"
     R"re( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)re",
     SplitRule::qwen2},
    {R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re",
     SplitRule::gpt2},
};

std::string_view type_of(const JsonField& part) { return part.at("type").text(); }

[[noreturn]] void unknown_type(const JsonField& part, std::string_view known) {
  part.refuse(ErrorCode::unsupported, fmt::format("has the type '{}', known is {}",
                                                  shown_in_message(type_of(part)), known));
}

// A part that is one step or a sequence of steps under `key`.
std::vector<JsonField> steps_of(const JsonField& part, std::string_view key) {
  if (type_of(part) == "Sequence") return part.at(key).elements();
  return {part};
}

void read_normalizer(const JsonField& root, TokenizerData& data) {
  const auto normalizer = root.find("normalizer");
  if (!normalizer) return;
  for (const JsonField& step : steps_of(*normalizer, "normalizers")) {
    if (type_of(step) != "NFC") unknown_type(step, "NFC");
    data.normalize_nfc = true;
  }
}

SplitRule split_of_expression(const JsonField& step) {
  const std::string_view expression = step.at("pattern").at("Regex").text();
  if (step.text_or("behavior", "") != "Isolated" || step.flag("invert", false)) {
    step.refuse(ErrorCode::unsupported, "is not a split of behavior Isolated without invert");
  }
  for (const KnownExpression& known : kExpressions) {
    if (known.expression == expression) return known.split;
  }
  step.refuse(ErrorCode::unsupported,
              fmt::format("splits by an expression that is not known: '{}'; only the expressions "
                          "of GPT-2, Llama 3 and Qwen 2 are",
                          shown_in_message(expression)));
}

void read_pre_tokenizer(const JsonField& root, TokenizerData& data) {
  const JsonField part = root.at("pre_tokenizer");
  const std::vector<JsonField> steps = steps_of(part, "pretokenizers");
  const auto is = [&](std::size_t index, std::string_view type) {
    return index < steps.size() && type_of(steps[index]) == type;
  };
  if (steps.empty() || steps.size() > 2 || !is(steps.size() - 1, "ByteLevel")) {
    part.refuse(ErrorCode::unsupported,
                "is not ByteLevel, Split then ByteLevel, or Digits then ByteLevel");
  }
  const JsonField& bytes = steps.back();
  if (bytes.flag("add_prefix_space", true)) {
    bytes.refuse(ErrorCode::unsupported, "adds a prefix space");
  }
  const bool gpt2 = bytes.flag("use_regex", true);
  if (steps.size() == 1 && gpt2) {
    data.split = SplitRule::gpt2;
  } else if (is(0, "Digits") && steps.size() == 2 && gpt2) {
    if (!steps[0].flag("individual_digits", false)) {
      steps[0].refuse(ErrorCode::unsupported,
                      "keeps digits together; only single digits are known");
    }
    data.split = SplitRule::smollm;
  } else if (is(0, "Split") && steps.size() == 2 && !gpt2) {
    data.split = split_of_expression(steps[0]);
  } else {
    part.refuse(ErrorCode::unsupported, fmt::format("joins '{}' and ByteLevel with use_regex {}",
                                                    shown_in_message(type_of(steps[0])), gpt2));
  }
}

std::int32_t type_of_item(const JsonField& item) {
  return item.find("type_id") ? static_cast<std::int32_t>(item.at("type_id").integer(0, 255)) : 0;
}

// {"SpecialToken": {"id": name, "type_id": 0}} and {"Sequence": {"id": "A", "type_id": 0}}; each of
// the `sequences` ("A" or "AB") once.
std::vector<RowTemplate::Item> read_template_items(const JsonField& part, const char* key,
                                                   std::string_view sequences) {
  const std::vector<JsonField> fields = part.at(key).elements();
  if (fields.size() > kMaxTemplateItems) {
    part.refuse(ErrorCode::unsupported, fmt::format("has {} items, at most {} are expected",
                                                    fields.size(), kMaxTemplateItems));
  }
  std::vector<RowTemplate::Item> items;
  std::string seen;
  for (const JsonField& field : fields) {
    if (const auto token = field.find("SpecialToken")) {
      const JsonField ids = part.at("special_tokens").at(token->at("id").text()).at("ids");
      for (const JsonField& id : ids.elements()) {
        items.push_back({RowTemplate::Kind::id, type_of_item(*token),
                         static_cast<TokenId>(id.integer(0, kMaxTokenId))});
      }
      continue;
    }
    const JsonField sequence = field.at("Sequence");
    const std::string_view name = sequence.text_or("id", "");
    if (name.size() != 1 || sequences.find(name) == std::string_view::npos ||
        seen.find(name) != std::string::npos) {
      field.refuse(ErrorCode::unsupported,
                   fmt::format("is not one of the sequences {}, each once", sequences));
    }
    seen += name;
    items.push_back({name == "A" ? RowTemplate::Kind::first : RowTemplate::Kind::second,
                     type_of_item(sequence), 0});
  }
  if (seen.size() != sequences.size()) {
    part.at(key).refuse(ErrorCode::unsupported, "has no place for the text");
  }
  return items;
}

void read_template(const JsonField& part, TokenizerData& data) {
  RowTemplate around;
  around.single = read_template_items(part, "single", "A");
  if (part.find("pair")) around.pair = read_template_items(part, "pair", "AB");
  bool text_seen = false;
  for (const RowTemplate::Item& item : around.single) {
    if (item.kind == RowTemplate::Kind::first) {
      text_seen = true;
    } else {
      (text_seen ? data.after : data.before).push_back(item.id);
    }
  }
  data.row_template = std::move(around);
}

void read_post_processor(const JsonField& root, TokenizerData& data) {
  const auto part = root.find("post_processor");
  if (!part) return;
  int templates = 0;
  for (const JsonField& step : steps_of(*part, "processors")) {
    const std::string_view type = type_of(step);
    if (type == "ByteLevel") continue;  // moves offsets only
    if (type != "TemplateProcessing") unknown_type(step, "ByteLevel and TemplateProcessing");
    if (++templates > 1) step.refuse(ErrorCode::unsupported, "is a second template");
    read_template(step, data);
  }
}

void read_decoder(const JsonField& root) {
  const JsonField part = root.at("decoder");
  const std::vector<JsonField> steps = steps_of(part, "decoders");
  if (steps.size() != 1) part.refuse(ErrorCode::unsupported, "is not ByteLevel alone");
  if (type_of(steps[0]) != "ByteLevel") unknown_type(steps[0], "ByteLevel");
}

}  // namespace

std::string_view split_expression(SplitRule split) {
  // GPT-2's own is built into ByteLevel.
  if (split == SplitRule::gpt2) return {};
  for (const KnownExpression& known : kExpressions) {
    if (known.split == split) return known.expression;
  }
  return {};
}

void read_tokenizer_parts(const JsonField& root, TokenizerData& data) {
  read_normalizer(root, data);
  read_pre_tokenizer(root, data);
  read_post_processor(root, data);
  read_decoder(root);
}

}  // namespace linnet
