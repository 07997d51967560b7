// The room of text: Unicode, the tokenizer (byte-level BPE) and its streaming decoder, the Jinja
// engine, chat messages and templates, and the parser of model output (reasoning, tool calls).
// Nothing here knows a model: ids and strings go in, strings and ids come out.
// Text inside of the room is valid UTF-8; the doors that take other bytes say whether they refuse
// them (naming the offset) or repair them.
#pragma once
