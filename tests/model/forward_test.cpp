// What must hold for every variant of the model: neither cutting, batching, padding nor threads
// change a bit of what a sequence gives.
#include "model/forward.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/model_folder.h"

using namespace linnet;
using linnet::testing::ModelFolder;

namespace {

struct Variant {
  const char* name;
  // Changes to a small config: SmolLM3, 3 layers, 37 wide ffn, grouped queries.
  std::vector<std::pair<const char*, const char*>> changes;
};

const std::vector<Variant> kVariants = {
    {"plain", {}},
    {"window", {{"use_sliding_window", "true"}, {"sliding_window", "3"}}},
    {"window by list",
     {{"sliding_window", "2"},
      {"layer_types", R"(["sliding_attention", "full_attention", "sliding_attention"])"}}},
    {"biases, own head, gelu",
     {{"attention_bias", "true"},
      {"mlp_bias", "true"},
      {"tie_word_embeddings", "false"},
      {"hidden_act", R"("gelu_new")"}}},
    {"relu, one key/value head", {{"hidden_act", R"("relu")"}, {"num_key_value_heads", "1"}}},
    {"linear", {{"rope_scaling", R"({"type": "linear", "factor": 3.0})"}}},
    {"dynamic", {{"rope_scaling", R"({"type": "dynamic", "factor": 2.0})"}}},
    {"llama3", {{"rope_scaling", R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8})"}}},
    {"yarn", {{"rope_scaling", R"({"rope_type": "yarn", "factor": 4.0})"}}},
    {"longrope",
     {{"rope_scaling", R"({"rope_type": "longrope", "factor": 4.0, "short_factor": [1.0, 1.5],
        "long_factor": [2.0, 3.0], "original_max_position_embeddings": 8})"}}},
    {"classifies sequences", {{"architectures", R"(["SmolLM3ForSequenceClassification"])"}}},
    {"classifies tokens", {{"architectures", R"(["SmolLM3ForTokenClassification"])"}}},
    {"answers questions", {{"architectures", R"(["SmolLM3ForQuestionAnswering"])"}}},
    {"bare", {{"architectures", R"(["SmolLM3Model"])"}}},
};

void configure(ModelFolder& folder, const Variant& variant) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, const char*>>{
           {"architectures", R"(["SmolLM3ForCausalLM"])"},
           {"num_hidden_layers", "3"},
           {"num_attention_heads", "4"},
           {"num_key_value_heads", "2"},
           {"head_dim", "4"},
           {"intermediate_size", "37"},
           {"no_rope_layers", "[1, 0, 1, 1]"},
           {"max_position_embeddings", "8"},
           {"pad_token_id", "0"}}) {
    folder.set(key, value);
  }
  for (const auto& [key, value] : variant.changes) folder.set(key, value);
  folder.make_tensors();
}

using Ids = std::vector<std::int32_t>;

Ids some_ids(std::uint64_t seed, std::size_t count) {
  RandomStream stream(seed);
  Ids ids(count);
  for (auto& id : ids) id = 1 + static_cast<std::int32_t>(stream.next_uniform() * 19);
  return ids;
}

// All that a head gives, as one array: of the last `rows` columns of batch row `row`.
std::vector<float> tail_of(const ForwardOutputs& outputs, std::int64_t row, std::int64_t rows) {
  std::vector<float> tail;
  const auto take = [&](const std::vector<float>& array, std::int64_t columns, std::int64_t width) {
    if (array.empty()) return;
    const auto end = array.begin() + (row + 1) * columns * width;
    tail.insert(tail.end(), end - std::min(rows, columns) * width, end);
  };
  take(outputs.logits, outputs.columns, outputs.width);
  take(outputs.start_logits, outputs.columns, 1);
  take(outputs.end_logits, outputs.columns, 1);
  return tail;
}

struct Padding {
  std::int64_t left = 0;
  std::int64_t right = 0;
};

// One sequence in a rectangle with padding; positions count from its first token.
std::vector<float> run_padded(const Model& model, const Ids& ids, Padding padding) {
  const auto count = static_cast<std::int64_t>(ids.size());
  std::vector<std::int64_t> tokens, mask, positions;
  for (std::int64_t i = -padding.left; i < count + padding.right; ++i) {
    const bool real = i >= 0 && i < count;
    tokens.push_back(real ? ids[static_cast<std::size_t>(i)] : 0);
    mask.push_back(real ? 1 : 0);
    positions.push_back(std::max<std::int64_t>(0, i));
  }
  ForwardRequest request;
  request.input.batch = 1;
  request.input.length = static_cast<std::int64_t>(tokens.size());
  request.input.tokens = tokens;
  request.input.mask = mask;
  request.input.positions = positions;
  ForwardOutputs outputs = forward(model, request);
  if (!outputs.pooled_columns.empty()) return outputs.logits;
  // The right padding must be zeros; without it the sequence's rows are the last ones.
  const std::vector<float> all = tail_of(outputs, 0, outputs.columns);
  std::vector<float> rows;
  const bool answers = outputs.logits.empty();
  const std::int64_t width = answers ? 1 : outputs.width;
  for (std::int64_t plane = 0; plane < (answers ? 2 : 1); ++plane) {
    const auto first = all.begin() + (plane * request.input.length + padding.left) * width;
    rows.insert(rows.end(), first, first + count * width);
    CHECK(std::all_of(first + count * width, first + (count + padding.right) * width,
                      [](float x) { return x == 0.0f; }));
  }
  return rows;
}

// Fed in pieces, with a declared length where the rotation needs one.
std::vector<float> run_pieces(const Model& model, const Ids& ids, std::size_t piece) {
  std::vector<KvCache> caches;
  caches.push_back(model.make_cache());
  caches[0].declare_length(static_cast<std::int64_t>(ids.size()));
  std::vector<float> joined, starts, ends;
  for (std::size_t at = 0; at < ids.size(); at += piece) {
    const std::size_t rows = std::min(piece, ids.size() - at);
    const std::vector<std::int64_t> tokens(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                           ids.begin() + static_cast<std::ptrdiff_t>(at + rows));
    ForwardRequest request;
    request.input.batch = 1;
    request.input.length = static_cast<std::int64_t>(rows);
    request.input.tokens = tokens;
    request.input.past_columns = static_cast<std::int64_t>(at);
    request.caches = caches;
    const ForwardOutputs outputs = forward(model, request);
    if (!outputs.pooled_columns.empty()) joined.clear();  // the last piece holds the last token
    joined.insert(joined.end(), outputs.logits.begin(), outputs.logits.end());
    starts.insert(starts.end(), outputs.start_logits.begin(), outputs.start_logits.end());
    ends.insert(ends.end(), outputs.end_logits.begin(), outputs.end_logits.end());
  }
  joined.insert(joined.end(), starts.begin(), starts.end());
  joined.insert(joined.end(), ends.begin(), ends.end());
  return joined;
}

ForwardRequest request_for(const std::vector<std::int64_t>& tokens, std::int64_t batch) {
  ForwardRequest request;
  request.input.batch = batch;
  request.input.length =
      static_cast<std::int64_t>(tokens.size()) / std::max<std::int64_t>(1, batch);
  request.input.tokens = tokens;
  return request;
}

std::string fault_of(const Model& model, const ForwardRequest& request) {
  try {
    forward(model, request);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("for every variant: pieces, padding, batches and threads change no bit") {
  const Ids ids = some_ids(1, 13);
  for (const Variant& variant : kVariants) {
    CAPTURE(std::string(variant.name));
    ModelFolder folder;
    configure(folder, variant);
    const auto model = folder.load({.threads = 1});
    const auto whole = run_padded(*model, ids, {});
    CHECK(std::all_of(whole.begin(), whole.end(), [](float x) { return std::isfinite(x); }));
    for (const std::size_t piece : {1u, 2u, 5u, 12u})
      CHECK(run_pieces(*model, ids, piece) == whole);
    for (const Padding padding : {Padding{3, 0}, Padding{0, 4}, Padding{2, 2}})
      CHECK(run_padded(*model, ids, padding) == whole);
    CHECK(run_padded(*folder.load({.threads = 3}), ids, {2, 0}) == whole);
    // Last in a batch of others; the longest, so that its rows are the last of the rectangle.
    const std::vector<Ids> batch = {some_ids(2, 4), some_ids(3, 9), {}, ids};
    const PaddedTokens padded = pad_sequences(batch, 0);
    ForwardRequest request;
    request.input = padded.view();
    CHECK(tail_of(forward(*model, request), 3, 13) == whole);
  }
}

TEST_CASE("the variants are different models") {
  // Else the test above would not see a variant that is ignored.
  std::vector<std::vector<float>> seen;
  for (const Variant& variant : kVariants) {
    ModelFolder folder;
    configure(folder, variant);
    seen.push_back(run_padded(*folder.load(), some_ids(1, 13), {}));
    for (std::size_t i = 0; i + 1 < seen.size(); ++i)
      CHECK_MESSAGE(seen[i] != seen.back(), variant.name);
  }
}

TEST_CASE("packed documents give what each gives alone") {
  for (const Variant& variant : {kVariants[0], kVariants[1], kVariants[6]}) {
    ModelFolder folder;
    configure(folder, variant);
    const auto model = folder.load();
    const Ids a = some_ids(4, 11), b = some_ids(5, 1), c = some_ids(6, 3);
    std::vector<std::int64_t> packed;
    for (const Ids* part : {&a, &b, &c}) packed.insert(packed.end(), part->begin(), part->end());
    const std::vector<std::int64_t> lengths = {11, 1, 3};
    ForwardRequest request = request_for(packed, 1);
    request.input.document_lengths = lengths;
    std::vector<float> alone;
    for (const Ids* part : {&a, &b, &c}) {
      const auto rows = run_padded(*model, *part, {});
      alone.insert(alone.end(), rows.begin(), rows.end());
    }
    CHECK(forward(*model, request).logits == alone);
  }
}

TEST_CASE("a row without any token gives zeros, and so does an empty batch") {
  for (const Variant& variant : kVariants) {
    ModelFolder folder;
    configure(folder, variant);
    const auto model = folder.load();
    const std::vector<std::int64_t> tokens = {3, 4, 5, 6}, mask = {0, 0, 1, 1};
    ForwardRequest request = request_for(tokens, 2);
    request.input.mask = mask;
    request.hidden_states = true, request.attentions = true;
    const ForwardOutputs outputs = forward(*model, request);
    for (const auto* array :
         {&outputs.logits, &outputs.start_logits, &outputs.hidden_states, &outputs.attentions}) {
      CHECK(std::all_of(array->begin(), array->end(), [](float x) { return std::isfinite(x); }));
    }
    const auto first = tail_of(outputs, 0, outputs.columns);
    CHECK(std::all_of(first.begin(), first.end(), [](float x) { return x == 0.0f; }));
    const ForwardOutputs none = forward(*model, request_for({}, 0));
    CHECK(none.logits.empty());
    ForwardRequest hollow = request_for({}, 2);
    CHECK(hollow.input.length == 0);
    CHECK_NOTHROW(forward(*model, hollow));
  }
}

TEST_CASE("hidden states: the list has layers + 2 entries, and the head reads the last") {
  ModelFolder folder;
  configure(folder, kVariants[0]);
  const auto model = folder.load();
  const std::vector<std::int64_t> tokens = {3, 4, 5};
  ForwardRequest request = request_for(tokens, 1);
  request.hidden_states = true;
  const ForwardOutputs outputs = forward(*model, request);
  const std::size_t plane = 3 * 8;
  REQUIRE(outputs.hidden_states.size() == 5 * plane);
  const float* embedding = &folder.tensors[0].second.values<float>()[3 * 8];
  CHECK(std::equal(embedding, embedding + 8, outputs.hidden_states.begin()));
  // The last entry is the norm of the one before it.
  const auto scale = folder.tensors.back().second.values<float>();
  CHECK(folder.tensors.back().first == "model.norm.weight");
  for (std::size_t row = 0; row < 3; ++row) {
    float normed[8];
    rms_norm(&outputs.hidden_states[3 * plane + row * 8], scale.data(), 1e-6f, normed, 8);
    CHECK(std::equal(
        normed, normed + 8,
        outputs.hidden_states.begin() + static_cast<std::ptrdiff_t>(4 * plane + row * 8)));
  }
}

TEST_CASE("attentions lie at the columns of the keys, past ones among them") {
  ModelFolder folder;
  configure(folder, kVariants[1]);
  const auto model = folder.load();
  std::vector<KvCache> caches;
  caches.push_back(model->make_cache());
  const std::vector<std::int64_t> first = {3, 4, 5, 6}, mask = {0, 1, 0, 1}, next = {7, 8};
  ForwardRequest request = request_for(first, 1);
  request.input.mask = mask;
  request.caches = caches;
  forward(*model, request);
  request = request_for(next, 1);
  request.input.past_columns = 4;
  request.caches = caches;
  request.attentions = true;
  const auto attentions = forward(*model, request).attentions;
  REQUIRE(attentions.size() == 3 * 4 * 2 * 6);
  for (std::size_t row = 0; row < attentions.size(); row += 6) {
    const auto p = std::span(attentions).subspan(row, 6);
    const bool windowed = row / (4 * 2 * 6) == 1;  // the layer without rotation sees 3 columns
    const bool is_first = row / 6 % 2 == 0;
    CHECK(p[0] + p[2] == 0);
    CHECK((p[1] > 0) == !windowed);
    CHECK((p[3] > 0) == true);
    CHECK((p[5] > 0) == !is_first);
    CHECK(p[0] + p[1] + p[2] + p[3] + p[4] + p[5] == doctest::Approx(1.0));
  }
}

TEST_CASE("a head mask of zeros silences a layer's attention, of ones changes nothing") {
  ModelFolder folder;
  configure(folder, kVariants[0]);
  const auto model = folder.load();
  const std::vector<std::int64_t> tokens = {3, 4, 5};
  ForwardRequest request = request_for(tokens, 1);
  const auto plain = forward(*model, request).logits;
  std::vector<float> head_mask(3 * 4, 1.0f);
  request.head_mask = head_mask;
  CHECK(forward(*model, request).logits == plain);
  head_mask[5] = 0.0f;
  CHECK(forward(*model, request).logits != plain);
}

TEST_CASE("logits of the last columns only") {
  ModelFolder folder;
  configure(folder, kVariants[0]);
  const auto model = folder.load();
  const std::vector<std::int64_t> tokens = {3, 4, 5, 6, 7, 8};
  ForwardRequest request = request_for(tokens, 2);
  const auto all = forward(*model, request);
  request.last_columns = 2;
  const auto some = forward(*model, request);
  CHECK(some.columns == 2);
  for (const std::int64_t row : {0, 1}) CHECK(tail_of(some, row, 2) == tail_of(all, row, 2));
  request.last_columns = 0;
  CHECK(forward(*model, request).logits.empty());
}

TEST_CASE("requests that do not fit are refused, and say what does") {
  ModelFolder folder;
  configure(folder, kVariants[0]);
  const auto model = folder.load();
  const std::vector<std::int64_t> tokens = {3, 4, 5, 20};
  const auto mentions = [&](const ForwardRequest& request,
                            std::initializer_list<const char*> parts) {
    const std::string fault = fault_of(*model, request);
    for (const char* part : parts) CHECK_MESSAGE(fault.find(part) != std::string::npos, fault);
  };
  mentions(request_for(tokens, 2), {"token id 20", "row 1", "column 1", "vocabulary of 20"});
  const std::vector<std::int64_t> mask = {1, 1, 1, 0}, good = {3, 4, 5, 6};
  ForwardRequest masked = request_for(tokens, 2);
  masked.input.mask = mask;
  CHECK_NOTHROW(forward(*model, masked));  // what is masked is never looked at
  ForwardRequest request = request_for(good, 2);
  const std::vector<float> embeddings(2 * 2 * 7);
  request.input.tokens = {}, request.input.embeddings = embeddings, request.input.hidden = 7;
  mentions(request, {"[2, 2, 7]", "8 wide"});
  request = request_for(good, 2);
  const std::vector<float> short_mask(5);
  request.head_mask = short_mask;
  mentions(request, {"head mask", "12", "5"});
  request = request_for(good, 2);
  const std::vector<std::int64_t> far = {0, 1, 0, std::int64_t{1} << 31},
                                  farther = {0, 1, 0, 1 << 30};
  request.input.positions = far;
  mentions(request, {"position", "2147483648"});
  request.input.positions = farther;
  CHECK_NOTHROW(forward(*model, request));
  request = request_for(good, 2);
  request.last_columns = 3;
  mentions(request, {"3", "2"});
  request = request_for(good, 2);
  request.input.past_columns = 1;
  mentions(request, {"caches"});
  std::vector<KvCache> caches;
  caches.push_back(model->make_cache());
  request = request_for(good, 2);
  request.caches = caches;
  mentions(request, {"1 caches for 2"});
  request = request_for(good, 1);
  request.caches = caches;
  CHECK_NOTHROW(forward(*model, request));
  mentions(request, {"past_columns", "3"});  // the cache already holds those columns
}
