// The room of quantization: measuring what rounding costs (perplexity, KL divergence), and rounding
// weights with a calibration text (smoothing, importance, error feedback). The default texts are
// part of the program.
#pragma once
