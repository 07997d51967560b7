// Filters: each removes candidates, or scales their scores, by the candidates' own distribution.
// Probabilities are weight / total of what earlier filters left. Whatever they pass over quickly,
// the result is that of the rule applied to every candidate.
#pragma once

#include "engine/candidates.h"

namespace linnet {

struct GenerationConfig;

// Memory that the filters use again from token to token.
struct FilterScratch {
  std::vector<float> scores;
  std::vector<float> sorting;
  std::vector<std::pair<float, std::uint32_t>> pairs;
  std::vector<std::pair<float, std::uint32_t>> sorting_pairs;
};

// Dynamic temperature (llama.cpp, dynatemp): temperature - range where one id is certain,
// temperature + range where all are as likely, by (entropy / its most)^exponent between.
float dynamic_temperature(Candidates& candidates, const GenerationConfig& config);
// Keeps scores within n standard deviations of the largest (Tang et al., "Top-n-sigma: not all
// logits are you need"); deviations are f64.
void keep_top_n_sigma(Candidates& candidates, float n);
// Removes what is below the k-th largest; its equals stay.
void keep_top_k(Candidates& candidates, std::int64_t k, FilterScratch& scratch);
// Ascending by score, equal scores by id: removes while the running sum (f32) of probabilities is
// at most 1 - p. The largest stays. The total of the probabilities is summed in the same order.
void keep_top_p(Candidates& candidates, float p, FilterScratch& scratch);
// Removes what has less than min_p times the largest probability (Nguyen et al., "Turning up the
// heat: min-p sampling").
void keep_min_p(Candidates& candidates, float min_p);
// By distance of the surprise from the entropy, nearest first, equals by id: keeps until the
// running sum (f32) reaches p, and what is as near as the last (Meister et al., "Locally typical
// sampling").
void keep_typical(Candidates& candidates, float p, FilterScratch& scratch);
// Removes probabilities below epsilon; the largest and its equals stay. Eta: below the lesser of
// epsilon and sqrt(epsilon) e^-entropy (Hewitt et al., "Truncation sampling as language model
// desmoothing").
void keep_epsilon(Candidates& candidates, float epsilon);
void keep_eta(Candidates& candidates, float epsilon);
// Exclude top choices (p-e-w, text-generation-webui pull request 6335), when the draw says so: of
// the probabilities of at least `threshold` only the least stays, of equals the first.
void exclude_top_choices(Candidates& candidates, float threshold);
// Mirostat 1 and 2 (Basu et al., "Mirostat: a neural text decoding algorithm that directly controls
// perplexity"), as llama.cpp has them: keeps what has a surprise of about `mu` bits.
void keep_mirostat_1(Candidates& candidates, float mu, FilterScratch& scratch);
void keep_mirostat_2(Candidates& candidates, float mu);

}  // namespace linnet
