// Python's two ways to format: "%s" % value and "{}".format(value). Places of texts are kept.
#pragma once

#include "text/jinja_heap.h"
#include "text/jinja_value.h"

namespace linnet::jinja {

// `values` is a tuple, a dict (for %(key)s), or one value.
Text percent_format(Heap& heap, const Text& pattern, const Value& values);
// str.format. Attribute access inside of the pattern yields nothing: the sandbox's rule is kept by
// not offering it.
Text brace_format(Heap& heap, const Text& pattern, const Args& args);
// & < > ' " as HTML entities; the result is markup.
Text html_escape(const Text& text);

}  // namespace linnet::jinja
