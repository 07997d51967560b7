// Values that others have published for weights that anyone can download.
#include "cli/verify_cases.h"

namespace linnet {
namespace {

// The tiny models have random weights. Positions that their masks cover are left out: what a model
// gives there is undefined.
constexpr const char* kPublished = R"json([
{"model": "bumblebee-testing/tiny-random-SmolLM3Model", "source": "Bumblebee's tests",
 "match": {"architectures": ["SmolLM3Model"], "hidden_size": 32, "vocab_size": 1024},
 "cases": [{"name": "hidden state", "ids": [10, 20, 30, 40, 50, 60, 70, 80],
   "rows": [1, 2, 3], "columns": [1, 2, 3],
   "values": [[0.2562, -0.4248, -0.1371], [-0.8060, -0.1415, 0.3646], [-0.4071, -1.0187, -1.1379]]}]},
{"model": "bumblebee-testing/tiny-random-SmolLM3ForQuestionAnswering", "source": "Bumblebee's tests",
 "match": {"architectures": ["SmolLM3ForQuestionAnswering"], "hidden_size": 32, "vocab_size": 1024},
 "cases": [{"name": "end of the answer", "ids": [10, 20, 30, 40, 50, 60, 70, 80],
   "rows": [0, 1, 2, 3, 4, 5, 6, 7], "columns": [1],
   "values": [[0.1937], [-0.0345], [0.0913], [-0.0821], [-0.0658], [-0.0438], [-0.0525], [-0.0771]]}]},
{"model": "bumblebee-testing/tiny-random-SmolLM3ForSequenceClassification", "source": "Bumblebee's tests",
 "match": {"architectures": ["SmolLM3ForSequenceClassification"], "hidden_size": 32, "vocab_size": 1024},
 "cases": [{"name": "scores of the last token", "ids": [10, 20, 30, 40, 50, 60, 70, 80],
   "rows": [7], "columns": [0, 1], "values": [[-0.0567, 0.0249]]}]},
{"model": "bumblebee-testing/tiny-random-SmolLM3ForCausalLM", "source": "Bumblebee's tests",
 "match": {"architectures": ["SmolLM3ForCausalLM"], "hidden_size": 32, "vocab_size": 1024},
 "cases": [{"name": "logits", "ids": [10, 20, 30, 40, 50, 60, 70, 80],
   "rows": [1, 2, 3], "columns": [1, 2, 3],
   "values": [[-0.0438, 0.2976, 0.1326], [0.0285, 0.0493, 0.0535], [0.0457, 0.2303, 0.0854]]}]},
{"model": "bumblebee-testing/tiny-random-SmolLM3ForTokenClassification", "source": "Bumblebee's tests",
 "match": {"architectures": ["SmolLM3ForTokenClassification"], "hidden_size": 32, "vocab_size": 1024},
 "cases": [{"name": "scores of each token", "ids": [10, 20, 30, 40, 50, 60, 70, 80],
   "rows": [0, 1, 2, 3, 4, 5, 6, 7], "columns": [0, 1],
   "values": [[-0.0053, -0.0636], [-0.1258, 0.2581], [-0.0500, 0.0485], [-0.1136, -0.0659],
              [0.0423, 0.1303], [0.0800, 0.0743], [-0.1378, 0.0709], [-0.0322, 0.1488]]}]},
{"model": "HuggingFaceTB/SmolLM3-3B", "source": "transformers' tests, in f32",
 "match": {"architectures": ["SmolLM3ForCausalLM"], "hidden_size": 2048, "num_hidden_layers": 36,
           "vocab_size": 128256},
 "cases": [
  {"name": "mean of the logits", "ids": [1, 306, 4658, 278, 6593, 310, 2834, 338], "tolerance": 1e-2,
   "rows": [0, 1, 2, 3, 4, 5, 6, 7],
   "means": [9.3306, 8.1721, 6.4764, 7.6011, 11.1218, 7.5343, 7.1195, 8.0956]},
  {"name": "logits of the first position", "ids": [1, 306, 4658, 278, 6593, 310, 2834, 338],
   "rows": [0],
   "columns": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
               24, 25, 26, 27, 28, 29],
   "values": [[15.7759, 17.6274, 16.3404, 14.5543, 13.1366, 14.2475, 15.8710, 15.6753, 12.3856,
               13.0386, 14.0792, 12.7253, 13.9634, 12.1271, 12.4320, 16.0329, 17.3975, 17.1396,
               17.8666, 17.0103, 17.2962, 16.8777, 16.7144, 16.3023, 16.6084, 12.4649, 12.0723,
               14.1148, 14.8239, 15.2733]]},
  {"name": "\"Gravity is the force\", continued", "ids": [39509, 374, 279, 5457],
   "one_of": [[430, 34145, 6302, 9017, 279, 4219, 315, 279, 9420, 13, 1102, 374, 264, 5457, 430,
               374, 2744, 3118, 11, 1524],
              [430, 34145, 6302, 9017, 279, 4219, 315, 279, 9420, 13, 1102, 374, 264, 5457, 430,
               374, 2744, 3118, 11, 323]]},
  {"name": "4,097 ids, continued (published for 4-bit weights)", "ids": [1],
   "repeat": {"ids": [306, 338], "times": 2048}, "skip": 2, "tokens": [306, 338]}]}
])json";

}  // namespace

std::vector<VerifySet> published_verify_sets() {
  return read_verify_sets(Json::parse(kPublished, "published values"), "published values");
}

}  // namespace linnet
