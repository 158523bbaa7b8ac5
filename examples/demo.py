"""Count a few cases and say how good the ranking is."""

import karat

print(karat.auc(karat.tally([1, 0, 1, 0, 0], [0.9, 0.4, 0.6, 0.5, 0.1])))
