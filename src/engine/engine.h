// The room of generation: logits in, tokens and text out. Pure parts first (logits processors,
// sampler, stop rules), then the Generator that drives a Model with its cache, and the Assistant
// that opens everything a chat model consists of. Rooms above ask here, never at the model.
#pragma once

#include "engine/assistant.h"
#include "engine/generation.h"
#include "engine/generator.h"
#include "engine/logits.h"
#include "engine/sampler.h"
#include "engine/stop_rules.h"
