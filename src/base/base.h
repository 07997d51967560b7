// base/: what every room stands on. Errors, the bounds-checked reader through which all untrusted
// bytes pass, file maps, JSON values, threads, random streams, telemetry, memory accounts, the log.
// Nothing here knows what a model is.
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mapped_files.h"
#include "base/memory_account.h"
#include "base/random.h"
#include "base/telemetry.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
