// The room of files: safetensors, GGUF, and the folder of a Hugging Face model. Everything read is
// checked against the file's size before it is used, and every error names file and tensor; what
// is written is complete or absent. Above this room a model is a ModelFiles, whatever it came from.
#pragma once

#include "formats/gguf.h"
#include "formats/model_files.h"
#include "formats/safetensors.h"
