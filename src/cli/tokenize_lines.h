// `linnet tokenize --jsonl`: a text on each line, a record for each of them, however many there
// are.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/token_record.h"
#include "text/tokenizer.h"

namespace linnet {

struct TokenizeLines {
  std::optional<std::string> file;  // standard input without one, and for "-"
  EncodeOptions encode;
  TokenRecordParts parts;
};

// A row is {"text": ...} or a JSON string; blank lines are left out. A row that is neither gives
// the record {"line":N,"error":...}, is told on standard error, and the rest goes on. Returns the
// exit status: 1 when there was such a row.
int tokenize_lines(CommandContext& context, const Tokenizer& tokenizer,
                   const TokenizeLines& options);

}  // namespace linnet
