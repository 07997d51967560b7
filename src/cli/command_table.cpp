#include "cli/answer_command.h"
#include "cli/batch_command.h"
#include "cli/bench_command.h"
#include "cli/byte_count.h"
#include "cli/classify_command.h"
#include "cli/command.h"
#include "cli/convert_command.h"
#include "cli/embed_command.h"
#include "cli/eval_command.h"
#include "cli/make_random_command.h"
#include "cli/pack_command.h"
#include "cli/parse_command.h"
#include "cli/quantize_command.h"
#include "cli/tag_command.h"
#include "cli/verify_command.h"

namespace linnet {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  commands.push_back(make_chat_command());
  commands.push_back(make_run_command());
  commands.push_back(make_batch_command());
  commands.push_back(make_classify_command());
  commands.push_back(make_tag_command());
  commands.push_back(make_answer_command());
  commands.push_back(make_embed_command());
  commands.push_back(make_inspect_command());
  commands.push_back(make_convert_command());
  commands.push_back(make_pack_command());
  commands.push_back(make_make_random_command());
  commands.push_back(make_quantize_command());
  commands.push_back(make_verify_command());
  commands.push_back(make_eval_command());
  commands.push_back(make_tokenize_command());
  commands.push_back(make_detokenize_command());
  commands.push_back(make_template_command());
  commands.push_back(make_parse_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_completion_command());
  return commands;
}

std::vector<Option> global_option_table(GlobalOptions& globals) {
  const std::vector<std::string> levels = {"debug", "info", "warn", "error", "off"};
  const std::vector<std::string> types = {"auto", "f32",  "bf16", "f16",  "q8_0",
                                          "q5_1", "q5_0", "q4_1", "q4_0", "mxfp4"};
  const std::vector<std::string> colors = {"auto", "always", "never"};
  return {
      {.name = "model",
       .letter = 'm',
       .value = "MODEL",
       .help = "tiny, smollm2, or the path of a model folder or GGUF file (default: smollm2 when "
               "it is in the cache, else tiny)",
       .names = {"tiny", "smollm2"},
       .path_ending = ".gguf",
       .is_path = true,
       .set = to_path(globals.model)},
      {.name = "threads",
       .letter = 't',
       .value = "N",
       .help = "threads that compute; 0: one for each core (default)",
       .set = to_integer(globals.threads, {0, 256})},
      {.name = "lane",
       .value = "LANE",
       .help = "what runs the model: native (packed weights, fused kernels), reference (plain f32 "
               "loops), or auto: native where it can (default)",
       .choices = lane_names(),
       .set = to_choice(globals.lane.lane, lane_names())},
      {.name = "native-fallback",
       .value = "WHAT",
       .help = "under --lane auto, for a model that the native lane cannot run: take the reference "
               "lane (default), or raise an error",
       .choices = native_fallback_names(),
       .set = to_choice(globals.lane.native_fallback, native_fallback_names())},
      {.name = "weights",
       .value = "FORMAT",
       .help = "of the native lane: f32, bf16, f16, mxfp8, nf4, i8 (or int8), n4 (or int4), s6, or "
               "auto: as exact as the file (default)",
       .choices = weight_names(),
       .set =
           [&globals](const std::string& text) {
             const std::string name = text == "int4" ? "n4" : text == "int8" ? "i8" : text;
             to_choice(globals.lane.weights, weight_names())(name);
           }},
      {.name = "cache",
       .value = "FORMAT",
       .help =
           "of keys and values in the native lane: f32, f16 (half of the memory), i8 (a quarter), "
           "or auto (default): i8 where matrices have integer weights",
       .choices = cache_names(),
       .set = to_choice(globals.lane.cache, cache_names())},
      {.name = "max-context",
       .value = "N",
       .help = "positions that a sequence may have, prompt and answer together (default: all that "
               "the model has)",
       .set = to_integer(globals.max_context, {1, INT64_MAX})},
      {.name = "yarn",
       .value = "FACTOR",
       .help = "a context so many times as long, by YaRN: 2 makes SmolLM3's 131072; leave it away "
               "where the plain one is enough",
       .set = to_number(globals.yarn, {1, 1024, true})},
      {.name = "memory-limit",
       .value = "SIZE",
       .help = "refuse a model that needs more than this for weights, cache and scratch, such as "
               "2GB",
       .set = to_byte_count(globals.lane.memory_limit)},
      {.name = "no-mmap",
       .help = "read model files into memory instead of mapping them",
       .set = to_flag(globals.no_mmap)},
      {.name = "dtype",
       .value = "TYPE",
       .help = "bring the weights to this type when they are loaded or converted (default auto: as "
               "in the file)",
       .choices = types,
       .set = to_choice(globals.dtype, types)},
      {.name = "log-level",
       .value = "LEVEL",
       .help = "messages on standard error, from this level up",
       .choices = levels,
       .variable = "LINNET_LOG",
       .set = to_choice(globals.log_level, levels)},
      {.name = "telemetry",
       .value = "FILE",
       .help = "append the events of the run to FILE, one JSON line for each",
       .is_path = true,
       .set = to_path(globals.telemetry)},
      {.name = "color",
       .value = "WHEN",
       .help = "colours",
       .choices = colors,
       .set = to_choice(globals.color, colors)},
      {.name = "trust-user-tokens",
       .help = "read control tokens such as <|im_end|> in the user's text as control tokens, not "
               "as text",
       .set = to_flag(globals.trust_user_tokens)},
  };
}

}  // namespace linnet
