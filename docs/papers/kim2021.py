"""Items of Kim et al. (2021): The Fermi-Dirac distribution for binary classifiers."""

from __future__ import annotations

from items import CORRECTED, LEFT_OUT, Item, Paper, Section

SETUP = """\
import numpy as np
import pandas as pd
import trueness

N, N1, A = 100, 50, 0.9
fd = trueness.fermi_dirac(n=N, n_pos=N1, auc=A)
rare = trueness.fermi_dirac(n=200, n_pos=20, auc=0.9)
weak = trueness.fermi_dirac(n=10_000, n_pos=3000, auc=0.505)
strong = trueness.fermi_dirac(n=10**6, n_pos=3 * 10**5, auc=0.9999)
r = np.arange(1, N + 1)
ranks = np.arange(1, 201)
P1, P0 = rare.probability(ranks), 1 - rare.probability(ranks)
rho, beta = rare.prevalence, rare.beta

# two classifiers of the same 300 cases
panel = trueness.simulate_panel(300, 100, [0.8, 0.7], rng=0)
t = panel["C1"]
ensemble = trueness.fidel(panel)
y = np.repeat([1, 0], [3, 4])
score = np.array([0.9, 0.7, 0.4, 0.8, 0.5, 0.3, 0.2])
prec = np.concatenate([[P1[0]], np.cumsum(P1) / ranks])  # Prec(0) = Prec(1)
fd_t = trueness.fermi_dirac(t)
known = trueness.fidel(
    panel.without_labels(),
    auc={k: trueness.auc(panel[k]).value for k in panel.names},
    prevalence=1 / 3,
)
# rows whose mean rank grows: from the best to the worst of both columns
by_mean_rank = np.sort(panel.rows, axis=0)[::-1]
west_nile = pd.read_csv(trueness.samples.path("west_nile"))
slope = (P1 / 20 - P0 / 180) / 2  # of the balanced accuracy from one rank to the next
second_difference = np.interp(rare.rank_threshold, ranks[1:] - 0.5, np.diff(slope))
q1, q2 = 0.75 / (2 - 0.75), 2 * 0.75**2 / (1 + 0.75)
hanley_mcneil = np.sqrt((0.75 * 0.25 + 2 * (q1 - 0.75**2) + 3 * (q2 - 0.75**2)) / 12)
wins = np.greater.outer(score[y == 1], score[y == 0])
small = trueness.tally(y, score)


def figure_3(n=50_000, seed=3):
    rng = np.random.default_rng(seed)
    for auc in (0.55, 0.65, 0.75, 0.85, 0.95):
        for share in np.arange(1, 10) / 10:
            drawn = trueness.simulate_tally(n, round(n * share), auc, rng=rng)
            law = trueness.fermi_dirac(drawn)
            scanned = trueness.best_threshold(drawn, "balanced_accuracy").confusion
            delong = trueness.auc(drawn, method="delong").se
            yield scanned.tp + scanned.fp, law.rank_threshold, delong, law.auc_se


points = np.array([*figure_3()])


def literal_variance(d):
    # Eqs 18, 22 and 23 with their sums as printed, by running sums
    n0 = d.n - d.n_pos
    p1 = d.probability(np.arange(1, d.n + 1))
    p0 = 1 - p1
    before, before_squares = np.cumsum(p1) - p1, np.cumsum(p1**2) - p1**2
    behind, behind_squares = p0.sum() - np.cumsum(p0), (p0**2).sum() - np.cumsum(p0**2)
    p110 = (p0 * (before**2 - before_squares)).sum() / (d.n_pos**2 * n0)
    p100 = (p1 * (behind**2 - behind_squares)).sum() / (d.n_pos * n0**2)
    spread = (d.n_pos - 1) * (p110 - d.auc**2) + (n0 - 1) * (p100 - d.auc**2)
    return (d.auc * (1 - d.auc) + spread) / (d.n_pos * n0)


designs = [
    trueness.fermi_dirac(n=n, n_pos=round(n * share), auc=auc)
    for n in (20, 50, 100, 200, 500, 1000)
    for share in np.arange(1, 10) / 10
    for auc in (0.55, 0.65, 0.75, 0.85, 0.95)
]
"""

# standard deviation of R in Fig. 3A over 20 runs of its 45 designs
RUN_TO_RUN = 0.0093

LAW = Section(
    "The Fermi-Dirac Distribution in Binary Classification",
    (
        Item(
            "Eqs 1, 2",
            "the number of fermions and the energy of the system",
            "fd.probability(r).sum(), (r * fd.probability(r)).sum()",
            equation="[N1, N1 * ((N + 1) / 2 + (N - N1) * (0.5 - A))]",
            reason="quantum states are ranks, their energy is the rank",
        ),
        Item(
            "Eq. 3",
            "N1 is the sum of the mean classes",
            "fd.probability(r).sum()",
            equation="N1",
        ),
        Item(
            "Eq. 4",
            "N1 (N + 1)/2 + N1 (N - N1)(1/2 - AUC) is the sum of their ranks",
            "(r * fd.probability(r)).sum()",
            equation="N1 * (N + 1) / 2 + N1 * (N - N1) * (0.5 - A)",
        ),
        Item(
            "text",
            "the mean rank of positives (N + 1)/2 + (N - N1)(1/2 - AUC)",
            "fd.expected('rank_pos')",
            equation="(N + 1) / 2 + (N - N1) * (0.5 - A)",
        ),
        Item(
            "Eq. 5",
            "P(y = 1 | r) = 1 / (1 + exp(beta (r - mu)))",
            "fd.probability([1, 25, 80])",
            equation="1 / (1 + np.exp(fd.beta * (np.array([1, 25, 80]) - fd.mu)))",
        ),
        Item(
            "Fig. 1A",
            "test sets of the (N, N1) ensemble, ranked and tallied",
            "trueness.counts.rank_frequencies(100, 50, 0.9, replicates=50, rng=0)"
            ".sum()",
            printed="50",
            noise=1e-9,
            reason="the frequency of a positive at each rank; they sum to N1",
        ),
        Item(
            "Fig. 1B",
            "the Fermi-Dirac distribution and the simulation",
            figure="fermi_figure1",
        ),
        Item(
            "Fig. 1",
            "beta = 0.0759",
            "fd.beta",
            printed="0.0759",
            verdict=CORRECTED,
            reason="Eqs 3 and 4 solved to 12 digits",
        ),
        Item(
            "Fig. 1",
            "mu = 50",
            "fd.mu",
            equation="50",
            verdict=CORRECTED,
            reason="(N + 1)/2: the ranks run from 1 to N",
        ),
        Item(
            "Fig. 1",
            "means -0.906 and 0.906: a classifier with an AUC of 0.9",
            "trueness.ranking.binormal(1, 2 * 0.906).auc",
            printed="0.9",
        ),
        Item(
            "Fig. 1",
            "the Pearson correlation of both is 0.99",
            "np.corrcoef(fd.probability(r), trueness.counts.rank_frequencies(100, 50, "
            "0.9, replicates=1000, rng=1))[0, 1]",
            printed="0.99",
            verdict=CORRECTED,
            reason="even higher in our simulation of the same design; a correlation of "
            "two falling curves says little about calibration",
        ),
    ),
)
PARAMETERS = Section(
    "The Temperature and Chemical Potential in Binary Classification",
    (
        Item(
            "text",
            "a temperature of 0 is a perfect classifier, of infinity a random one",
            "[trueness.fermi_dirac(n=10, n_pos=4, auc=a).temperature for a in (1, 0.5)]",
            printed="[0.0, inf]",
        ),
        Item(
            "text",
            "for beta to infinity mu is N1",
            "trueness.fermi_dirac(n=10, n_pos=4, auc=1).mu",
            equation="4",
            verdict=CORRECTED,
            reason="N1 + 1/2, between the last positive and the first negative rank",
        ),
        Item(
            "text",
            "for beta to 0 P(y = 1 | r) tends to N1 / N",
            "trueness.fermi_dirac(n=10, n_pos=4, auc=0.5).probability([1, 10])",
            equation="[0.4, 0.4]",
        ),
        Item(
            "Fig. 2", "beta N and mu / N by AUC and prevalence", figure="fermi_figure2"
        ),
        Item(
            "Eq. 6",
            "mu / N = 1/2 - ln[sinh(beta N (1 - rho)/2) / sinh(beta N rho/2)] / (beta N)",
            "rare.mu / 200",
            equation="0.5 - np.log(np.sinh(beta * 200 * (1 - rho) / 2) "
            "/ np.sinh(beta * 200 * rho / 2)) / (beta * 200)",
            verdict=CORRECTED,
            reason="a continuum on [0, N]: half a rank more, (N + 1)/2 for N/2",
        ),
        Item(
            "weak limit",
            "beta N = 12 (AUC - 0.5)",
            "weak.beta * weak.n",
            printed="0.06",
            reason="to first order, with the exact factor N^2 / (N^2 - 1)",
        ),
        Item(
            "weak limit",
            "mu / N = 1/2 - ln((1 - rho)/rho) / (12 (AUC - 0.5))",
            "round(weak.mu / weak.n, 1)",
            equation="round(0.5 - np.log(0.7 / 0.3) / (12 * 0.005), 1)",
            reason="to first order",
        ),
        Item(
            "strong limit",
            "beta N = sqrt(2/3) / sqrt(rho (1 - rho)(1 - AUC))",
            "strong.beta * strong.n",
            equation="np.sqrt(2 / 3) / np.sqrt(0.3 * 0.7 * 0.0001)",
            verdict=CORRECTED,
            reason="wrong by pi/2: pi / sqrt(6 rho (1 - rho)(1 - AUC)), here 279.9",
        ),
        Item(
            "strong limit",
            "mu / N = rho",
            "strong.mu / strong.n",
            printed="0.300",
        ),
        Item(
            "text",
            "if rho = 1/2, then mu = N/2",
            "trueness.fermi_dirac(n=10, n_pos=5, auc=0.7).mu",
            equation="5",
            verdict=CORRECTED,
            reason="(N + 1)/2",
        ),
        Item(
            "text",
            "symmetries in AUC and rho",
            "trueness.fermi_dirac(n=200, n_pos=20, auc=0.1).beta",
            equation="-rare.beta",
        ),
        Item(
            "text",
            "the most unbiased, calibrated probability",
            figure="fermi_miscalibrated",
            verdict=CORRECTED,
            reason="maximum entropy, not truth: off by 0.32 at N = 100, N1 = 10, AUC 0.9 "
            "for normal scores, see the [maths](../maths/fermi.md#where-it-is-not-calibrated)",
        ),
    ),
)
THRESHOLDS = Section(
    "Choosing Thresholds in Binary Classification",
    (
        Item(
            "Eq. 7",
            "the log-likelihood ratio ln(P(1|r)(1 - rho) / (P(0|r) rho))",
            "rare.log_likelihood_ratio([1, 50])",
            equation="np.log(P1[[0, 49]] * (1 - rho) / (P0[[0, 49]] * rho))",
        ),
        Item(
            "Eq. 8",
            "= ln((1 - rho)/rho) - beta (r - mu)",
            "rare.log_likelihood_ratio([1, 50])",
            equation="np.log((1 - rho) / rho) - beta * (np.array([1, 50]) - rare.mu)",
        ),
        Item(
            "Eq. 9",
            "r* / N = mu / N + ln((1 - rho)/rho) / (beta N)",
            "rare.rank_threshold / 200",
            equation="rare.mu / 200 + np.log((1 - rho) / rho) / (beta * 200)",
        ),
        Item(
            "Eq. 10",
            "r* with Eq. 6 put in",
            "rare.rank_threshold / 200",
            equation="0.5 + np.log((1 - rho) / rho * np.sinh(beta * 200 * rho / 2) "
            "/ np.sinh(beta * 200 * (1 - rho) / 2)) / (beta * 200)",
            verdict=CORRECTED,
            reason="half a rank more, as Eq. 6",
        ),
        Item(
            "Eq. 11",
            "TPR(r) = sum of y up to r, over N1",
            "trueness.sweep(small).tp / 3",
            equation="np.concatenate([[0], np.cumsum(y[np.argsort(-score)])]) / 3",
        ),
        Item(
            "Eq. 12",
            "1 - FPR(r) = sum of 1 - y behind r, over N - N1",
            "trueness.sweep(small).tn / 4",
            equation="1 - np.concatenate([[0], np.cumsum(1 - y[np.argsort(-score)])]) / 4",
        ),
        Item(
            "Eq. 13",
            "bac(r) = (TPR + 1 - FPR) / 2",
            "trueness.balanced_accuracy(trueness.sweep(small))",
            equation="(trueness.sweep(small).tp / 3 + trueness.sweep(small).tn / 4) / 2",
        ),
        Item(
            "Eq. 14",
            "its mean: the sum of both without a factor",
            "rare.expected('balanced_accuracy', 30)",
            equation="P1[:30].sum() / 20 + P0[30:].sum() / 180",
            verdict=CORRECTED,
            reason="lacks the 1/2 of Eq. 13",
        ),
        Item(
            "Eq. 15",
            "the derivative of the mean is zero at r*",
            "int(np.argmax(rare.expected('balanced_accuracy', ranks))) + 1",
            equation="int(np.floor(rare.rank_threshold))",
            reason="the best whole rank is r* rounded down",
        ),
        Item(
            "Eq. 16",
            "P(1|r*) / P(0|r*) = rho / (1 - rho)",
            "float(rare.probability(rare.rank_threshold))",
            equation="rho",
        ),
        Item(
            "text",
            "the second derivative at r* is -beta",
            "second_difference",
            equation="-beta",
            verdict=CORRECTED,
            reason="-beta / (2 N) by finite differences",
        ),
        Item(
            "Fig. 3A",
            "thresholds by scanning and by Eq. 9, 45 designs",
            figure="fermi_figure3a",
        ),
        Item(
            "Fig. 3A",
            "a correlation coefficient R = 0.98",
            "np.corrcoef(points[:, 0], points[:, 1])[0, 1]",
            printed="0.98",
            noise=4 * RUN_TO_RUN,
            reason="20 runs of the same 45 designs vary by 0.009 around 0.964",
        ),
    ),
)
VARIANCE = Section(
    "The Variance of AUC Estimates",
    (
        Item(
            "Eq. 17",
            "AUC = Prob(s_i > s_j | y_i = 1, y_j = 0)",
            "trueness.auc(small).value",
            equation="wins.mean()",
        ),
        Item(
            "Eq. 18",
            "the variance of the AUC from P110 and P100",
            "rare.auc_se**2",
            equation="(0.09 + 19 * (rare.p110 - 0.81) + 179 * (rare.p100 - 0.81)) "
            "/ (20 * 180)",
        ),
        Item(
            "Eq. 19",
            "AUC as a mean of Heaviside functions",
            "trueness.auc(small).value",
            equation="np.heaviside(np.subtract.outer(score[y == 1], score[y == 0]), "
            "0.5).mean()",
        ),
        Item(
            "text",
            "P110 = AUC / (2 - AUC) and P100 = 2 AUC^2 / (1 + AUC) of exponential scores",
            "trueness.auc(small, method='hanley-mcneil').se",
            equation="hanley_mcneil",
            reason="Hanley and McNeil 1982",
        ),
        Item(
            "Eq. 20",
            "DeLong's variance",
            "trueness.auc(small, method='delong').se ** 2",
            equation="wins.mean(axis=1).var(ddof=1) / 3 + wins.mean(axis=0).var(ddof=1) "
            "/ 4",
        ),
        Item(
            "Eq. 21",
            "AUC as a double sum over ranks",
            "rare.auc",
            equation="sum(P1[i] * P0[i + 1:].sum() for i in range(200)) / (20 * 180)",
            verdict=CORRECTED,
            reason="off by sum P(1 - P)/(2 N1 N0); exact when a rank ties with itself "
            "for 1/2",
        ),
        Item(
            "Eq. 22",
            "P110 as a triple sum",
            "rare.p110",
            equation="(P0 * ((np.cumsum(P1) - P1) ** 2 - (np.cumsum(P1**2) - P1**2)))"
            ".sum() / (20**2 * 180)",
            verdict=CORRECTED,
            reason="ties of a rank with itself count 1/2; as printed P110 may be below "
            "AUC^2",
        ),
        Item(
            "Eq. 23",
            "P100 as a triple sum",
            "rare.p100",
            equation="(P1 * ((P0.sum() - np.cumsum(P0)) ** 2 - ((P0**2).sum() "
            "- np.cumsum(P0**2)))).sum() / (20 * 180**2)",
            verdict=CORRECTED,
            reason="as Eq. 22",
        ),
        Item(
            "Eqs 22, 23",
            "designs of 270 in which the printed sums give a negative variance",
            "sum(d.auc_se**2 <= 0 for d in designs)",
            equation="sum(literal_variance(d) < 0 for d in designs)",
            verdict=CORRECTED,
            reason="N from 20 to 1,000, nine prevalences, five AUCs; 27 of the 45 with "
            "N = 20",
        ),
        Item(
            "P100",
            "s_i > max(s_j, s_k) > s_k",
            verdict=CORRECTED,
            reason="s_i > max(s_j, s_k)",
        ),
        Item(
            "Fig. 3B",
            "the standard error by DeLong and by Eq. 18",
            figure="fermi_figure3b",
        ),
        Item(
            "Fig. 3B",
            "a correlation coefficient R = 0.99",
            "np.corrcoef(points[:, 2], points[:, 3])[0, 1]",
            printed="0.99",
            reason="20 runs of the same 45 designs vary by 0.0004 around 0.993",
        ),
    ),
)
ENSEMBLES = Section(
    "Using the FD Distribution for Ensemble Classification",
    (
        Item(
            "Eq. 24",
            "ranks are independent given the class",
            "ensemble.correlation.shape",
            printed="(2, 2)",
            reason="the correlations within the classes are measured; "
            "`method='correlated'` allows for them",
        ),
        Item(
            "Eq. 25",
            "the log-likelihood ratios add up",
            "ensemble(panel.rows[:2])",
            equation="sum(trueness.fermi_dirac(panel[k]).log_likelihood_ratio("
            "trueness.fermi.midranks(panel[k], panel.rows[:2, i])) "
            "for i, k in enumerate(panel.names))",
        ),
        Item(
            "Eq. 26",
            "L = sum of beta_i (r*_i - r_ik)",
            "ensemble(panel.rows[:2])",
            equation="sum(f.beta * (f.rank_threshold - trueness.fermi.midranks(panel[k], "
            "panel.rows[:2, i])) for i, k in enumerate(panel.names) "
            "for f in [trueness.fermi_dirac(panel[k])])",
        ),
        Item(
            "text",
            "FiDEL only uses the AUC and the fraction of positives",
            "known(panel.rows[:2])",
            equation="ensemble(panel.rows[:2])",
            reason="with known AUCs no label is needed",
        ),
        Item(
            "text",
            "the predicted label is the Heaviside function of L",
            "bool(np.array_equal(ensemble.predict(panel.rows), ensemble(panel.rows) > 0))",
            printed="True",
        ),
        Item(
            "WoC",
            "the wisdom of crowds: the mean of the ranks",
            "bool(np.all(np.diff(trueness.wisdom_of_crowds(panel)(by_mean_rank)) <= 0))",
            printed="True",
        ),
        Item(
            "Figs S1, S2",
            "classifiers with a conditional rank correlation",
            figure="correlated_ranks",
            reason="FiDEL beats the best up to 0.40 with 7 classifiers, as printed; 0.05 "
            "with 2",
        ),
        Item(
            "text",
            "FiDEL is better than the WoC ensemble for all correlations",
            figure="combiners",
            verdict=CORRECTED,
            reason="the difference is 0 to 0.008 AUC unless classifiers differ much",
        ),
        Item(
            "text",
            "West Nile: rho = 0.08, N = 10,506",
            "len(west_nile), round(west_nile['virus'].mean(), 3)",
            printed="(10506, 0.08)",
            verdict=CORRECTED,
            reason="the source has 21,260 rows (0.088), of which 8,610 trap records are "
            "distinct (0.053)",
        ),
        Item(
            "Fig. S3",
            "class-conditioned correlation of the classifiers",
            figure="rank_correlation",
            reason="of five models on the West Nile sample",
        ),
        Item(
            "Fig. S4",
            "the FD distribution approximates the rank-conditioned probability",
            figure="fermi_fit",
        ),
        Item(
            "Fig. 4A",
            "FiDEL against the best of M classifiers, West Nile",
            figure="west_nile_pairs",
        ),
        Item(
            "Fig. 4B",
            "FiDEL, WoC and the best by M, West Nile",
            figure="west_nile_by_size",
            verdict=CORRECTED,
            reason="copies of a record kept in one partition: half of the printed gain",
        ),
        Item(
            "Fig. 4C, D",
            "Springleaf Marketing Response",
            verdict=LEFT_OUT,
            reason="we have no copy of its data, which belong to a Kaggle competition; the "
            "paper names Kaggle and its own repository as sources",
        ),
    ),
)
OTHER = Section(
    "Other Uses of the Class-Conditioned Rank Probability",
    (
        Item(
            "Eq. 27",
            "TPR(k) = sum of P(1|r) up to k, over N1",
            "rare.expected('tpr', 30)",
            equation="P1[:30].sum() / 20",
        ),
        Item(
            "Eq. 27",
            "the mean rank of positives",
            "rare.expected('rank_pos')",
            equation="(ranks * P1).sum() / 20",
        ),
        Item(
            "Eq. 28",
            "FPR(k) = sum of P(0|r) up to k, over N0",
            "rare.expected('fpr', 30)",
            equation="P0[:30].sum() / 180",
        ),
        Item(
            "Eq. 28",
            "the mean rank of negatives",
            "rare.expected('rank_neg')",
            equation="(ranks * P0).sum() / 180",
        ),
        Item(
            "Eq. 29",
            "Prec(k) = sum of P(1|r) up to k, over k",
            "rare.expected('precision', 30)",
            equation="P1[:30].sum() / 30",
        ),
        Item(
            "Eq. 30",
            "bac(k) = (TPR(k) + 1 - FPR(k)) / 2",
            "rare.expected('balanced_accuracy', 30)",
            equation="(P1[:30].sum() / 20 + 1 - P0[:30].sum() / 180) / 2",
        ),
        Item(
            "Eq. 31",
            "AUC = (mean rank of negatives - that of positives) / N + 1/2",
            "rare.auc",
            equation="((ranks * P0).sum() / 180 - (ranks * P1).sum() / 20) / 200 + 0.5",
        ),
        Item(
            "Eq. 32",
            "AUC = 2 mean bac - 1/2",
            "rare.auc",
            equation="2 * np.mean(rare.expected('balanced_accuracy', ranks)) - 0.5",
            reason="the mean over k = 1 to N",
        ),
        Item(
            "Eq. 32",
            "the maximum of the mean bac is 3/4",
            "trueness.fermi_dirac(n=10, n_pos=4, auc=1).expected("
            "'mean_balanced_accuracy')",
            printed="0.75",
        ),
        Item(
            "Eq. 33",
            "AUPRC = rho/2 (1 + mean of Prec(k) Prec(k + 1) / rho^2)",
            "rare.expected('auprc')",
            equation="rho / 2 * (1 + np.mean(prec[:-1] * prec[1:]) / rho**2)",
            reason="with Prec(0) = Prec(1), k = 0 to N - 1; the trapezoid area, not "
            "average precision",
        ),
        Item(
            "Eq. 34",
            "about rho/2 (1 + mean of Prec^2 / rho^2)",
            "rare.expected('auprc_large')",
            equation="rho / 2 * (1 + np.mean(prec[1:] ** 2) / rho**2)",
        ),
    ),
)
OUTLOOK = Section(
    "Conclusion",
    (
        Item(
            "text",
            "a new mammogram: its rank in the validation set, then its probability",
            "fd_t.probability(trueness.fermi.midranks(t, [2.0]))",
            reason="the rank of a new score among those of a tally",
        ),
        Item(
            "text",
            "if we had the area under the precision-recall curve, we could improve it",
            verdict=LEFT_OUT,
            reason="the constraint is a product of sums, so that the distribution of "
            "greatest entropy is no longer a logistic curve with two parameters",
        ),
        Item(
            "text",
            "modifications to FiDEL that take the correlation into account",
            "type(trueness.fidel(panel, method='correlated')).__name__",
            printed="CorrelatedFiDEL",
        ),
    ),
)

PAPER = Paper(
    name="kim2021",
    setup=SETUP,
    sections=(
        LAW,
        PARAMETERS,
        THRESHOLDS,
        VARIANCE,
        ENSEMBLES,
        OTHER,
        OUTLOOK,
    ),
)
