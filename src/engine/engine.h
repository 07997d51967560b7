// The room of generation: logits in, tokens and text out. Pure parts first (logits processors,
// sampler, searches, drafts, stop rules; sequences, scheduler, prefix cache), then the BatchEngine
// that drives a Model for many requests, the Generator for one at a time, and the Assistant that
// opens everything a chat model consists of. Beside it the task pipelines: classification,
// tagging, question answering, embeddings. Rooms above ask here, never at the model.
#pragma once

#include "engine/assistant.h"
#include "engine/batch_engine.h"
#include "engine/classify.h"
#include "engine/embed.h"
#include "engine/generation.h"
#include "engine/generator.h"
#include "engine/log_probabilities.h"
#include "engine/logits.h"
#include "engine/processors.h"
#include "engine/question_answering.h"
#include "engine/sampler.h"
#include "engine/stop_rules.h"
#include "engine/tag.h"
#include "engine/task_model.h"
