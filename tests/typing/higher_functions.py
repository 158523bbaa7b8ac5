"""Does each function that a lower room asks for have the type that it is asked by?

A type checker reads this file; nothing runs it.
"""

from collections.abc import Callable
from typing import Any

from trueness.calibration.calibrators import fit_label_map
from trueness.counts.answers import AnswerBins, AnswerFolds, CountArguments
from trueness.counts.expected_labels import LabelMap
from trueness.counts.values import Panel, Tally
from trueness.data.arguments import count_arguments
from trueness.data.storage import write_panel, write_tally
from trueness.declarations.json_format import declaration_text, declaration_to_json
from trueness.declarations.markdown import declaration_markdown
from trueness.declarations.page import declaration_page
from trueness.declarations.records import Declaration
from trueness.ensembles.fold_analyses import answer_folds
from trueness.metrics.algebra import Metric
from trueness.metrics.definitions import by_name
from trueness.metrics.grammar import metric
from trueness.scale.certificates import answer_with_bounds
from trueness.sites.values import statistic_by_name

counts_arguments: CountArguments = count_arguments
answers_folds: AnswerFolds = answer_folds
answers_bins: AnswerBins = answer_with_bounds
fits_label_map: Callable[[Any], LabelMap] = fit_label_map
writes_tally: Callable[[Tally, str], None] = write_tally
writes_panel: Callable[[Panel, str], None] = write_panel
reads_metric: Callable[[str], Metric] = metric
finds_metric: Callable[[str], object] = by_name
finds_statistic: Callable[[str], Any] = statistic_by_name
writes_json: Callable[[Declaration], dict[str, Any]] = declaration_to_json
writes_text: Callable[[Declaration], str] = declaration_text
writes_page: Callable[[Declaration], str] = declaration_page
writes_markdown: Callable[[Declaration], str] = declaration_markdown
