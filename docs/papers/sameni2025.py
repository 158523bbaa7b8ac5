"""Items of Sameni (2025): On the geometry of ROC and precision-recall curves."""

from __future__ import annotations

from items import CORRECTED, Item, Paper, Section

SETUP = """\
import numpy as np
from scipy import integrate, stats
import trueness
from trueness.ranking import binormal, kl_divergence, leakage

# the scores of both classes are normal
negatives, positives = stats.norm(0.0, 1.0), stats.norm(1.5, 1.2)
alpha, b = 1.0 / 1.2, (1.5 - 0.0) / 1.2
G = binormal(alpha, b)
pi_p, pi_n = 0.2, 0.8
tau = 0.7
tpr, fpr = positives.sf(tau), negatives.sf(tau)
u = np.array([0.1, 0.5, 0.9])

# and a sample of them
rng = np.random.default_rng(0)
y = np.repeat([1, 0], [100, 400])
score = np.concatenate([positives.rvs(100, rng), negatives.rvs(400, rng)]).round(1)
t = trueness.tally(y, score)
at = trueness.at_threshold(t, tau)
counts = trueness.confusion(t, tau)
tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
cuts = np.append(np.unique(score), np.inf)
best = trueness.best_threshold
separated = trueness.tally([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])

# probabilities of three classes, and what a decision (column) costs for each class
three = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.1, 0.2, 0.7]])
matrix = np.array([[0, 1, 1], [1, 0, 1], [3, 3, 0]])


def area(function, low=0.0, high=1.0):
    return integrate.quad(function, low, high, limit=200)[0]


def ratio(x):
    return positives.pdf(x) / negatives.pdf(x)


def share(label, cut):
    return np.mean(score[y == label] >= cut)
"""

SECTIONS = (
    Section(
        "2 Binary Classification Setup",
        (
            Item(
                "Eq. 1",
                "f_n(x) = f(x, s in c_n) / pi_n, and f_p likewise",
                "t.neg[:3] / t.n_neg",
                equation="(t.neg[:3] / t.n) / (t.n_neg / t.n)",
            ),
            Item(
                "Eq. 2",
                "F_n and F_p, the cumulative distribution functions",
                "[at['specificity'].value, at['fnr'].value]",
                equation="[np.mean(score[y == 0] < tau), np.mean(score[y == 1] < tau)]",
            ),
            Item(
                "Eq. 3",
                "c_p if x >= tau, c_n if x < tau",
                "trueness.Rule(tau).decide([0.6, 0.7, 0.8])",
                equation="[0, 1, 1]",
            ),
            Item(
                "Fig. 1",
                "score distributions with the threshold and four shaded areas",
                figure="sameni_figure1",
            ),
        ),
    ),
    Section(
        "3 Binary Classification Metrics",
        (
            Item(
                "Eq. 4",
                "tpr(tau) = 1 - F_p(tau)",
                "at['recall'].value",
                equation="share(1, tau)",
            ),
            Item(
                "Eq. 5",
                "tnr(tau) = F_n(tau)",
                "at['specificity'].value",
                equation="1 - share(0, tau)",
            ),
            Item(
                "Eq. 6",
                "fpr(tau) = 1 - F_n(tau)",
                "at['fpr'].value",
                equation="share(0, tau)",
            ),
            Item(
                "Eq. 7",
                "fnr(tau) = F_p(tau)",
                "at['fnr'].value",
                equation="1 - share(1, tau)",
            ),
            Item(
                "Eq. 8",
                "TP + FN = P, TN + FP = N, and all four are T",
                "[int(tp + fn), int(tn + fp), t.n]",
                equation="[(y == 1).sum(), (y == 0).sum(), y.size]",
            ),
            Item(
                "Eq. 9",
                "pi_p is about P / T",
                "t.n_pos / t.n",
                equation="(y == 1).sum() / y.size",
            ),
            Item(
                "Fig. 2",
                "Common classification evaluation measures: TPR, TNR, FPR, FNR",
                "[at[m].value for m in ('recall', 'specificity', 'fpr', 'fnr')]",
                equation="[tp / (tp + fn), tn / (tn + fp), fp / (fp + tn), "
                "fn / (tp + fn)]",
            ),
            Item(
                "Fig. 2",
                "Accuracy, PPV, NPV and F1",
                "[at[m].value for m in ('accuracy', 'precision', 'npv', 'f1')]",
                equation="[(tp + tn) / t.n, tp / (tp + fp), tn / (tn + fn), "
                "2 * tp / (2 * tp + fp + fn)]",
            ),
        ),
    ),
    Section(
        "3.2 G - Positive-to-Negative Class Leakage Function",
        (
            Item(
                "Eq. 10",
                "G(u) = F_p(F_n^-1(u))",
                "G(u)",
                equation="positives.cdf(negatives.ppf(u))",
                reason="`leakage(t)` is G of data",
            ),
            Item(
                "Eq. 11",
                "g(u) = dG(u) / du",
                "G.density(u)",
                equation="positives.pdf(negatives.ppf(u)) "
                "/ negatives.pdf(negatives.ppf(u))",
            ),
            Item(
                "text",
                "it fulfills G(0) = 0 and G(1) = 1",
                "G([0, 1])",
                equation="[0, 1]",
                reason="where one threshold separates the classes G(1) is 0, as in 8.2",
            ),
        ),
    ),
    Section(
        "4.1 Receiver Operating Characteristic (ROC) Curve",
        (
            Item(
                "Eq. 12",
                "tau = F_p^-1(1 - tpr) = F_n^-1(1 - fpr)",
                "positives.ppf(1 - G.tpr(fpr))",
                equation="negatives.ppf(1 - fpr)",
            ),
            Item("Eq. 13", "tpr = 1 - G(1 - fpr)", "G.tpr(fpr)", equation="tpr"),
            Item(
                "Eq. 14",
                "miss-rate = 1 - tpr = G(specificity)",
                "G.miss_rate(1 - fpr)",
                equation="1 - tpr",
            ),
            Item("Eq. 15", "fpr = 1 - G^-1(1 - tpr)", "G.fpr(tpr)", equation="fpr"),
            Item(
                "text",
                "the ROC curve is not impacted by class prevalence",
                "trueness.auc(t).value",
                equation="trueness.auc(t, prevalence=0.01).value",
            ),
        ),
    ),
    Section(
        "4.2 Area Under the ROC Curve (AUROC)",
        (
            Item(
                "Eq. 16",
                "AUROC is the integral of 1 - (F_p F_n^-1)(1 - u)",
                "G.auc",
                equation="area(lambda v: 1 - positives.cdf(negatives.ppf(1 - v)))",
            ),
            Item(
                "Eq. 17",
                "AUROC = 1 - integral of G",
                "G.auc",
                equation="1 - area(lambda v: positives.cdf(negatives.ppf(v)))",
            ),
            Item(
                "Eq. 18",
                "AUROC = Pr(x_p > x_n) = integral of f_p F_n",
                "G.auc",
                equation="area(lambda x: positives.pdf(x) * negatives.cdf(x), -9, 12)",
            ),
            Item(
                "Eq. 18",
                "the same of data, where ties count one half",
                "trueness.auc(t).value",
                equation="np.mean(np.sign(np.subtract.outer(score[y == 1], "
                "score[y == 0])) / 2 + 0.5)",
            ),
            Item(
                "Eq. 19",
                "Pr(x_n >= x_p) = integral of G",
                "G.area",
                equation="area(lambda x: negatives.pdf(x) * positives.cdf(x), -9, 12)",
                reason="of data `leakage(t).area`",
            ),
            Item(
                "Fig. 3",
                "A typical ROC curve highlighting G and the AUROC",
                figure="sameni_figure3",
            ),
        ),
    ),
    Section(
        "4.3 Precision-Recall (PR) Curve",
        (
            Item(
                "Eq. 20",
                "ppv = pi_p tpr / (pi_p tpr + pi_n fpr)",
                "G.precision(tpr, pi_p)",
                equation="pi_p * tpr / (pi_p * tpr + pi_n * fpr)",
            ),
            Item(
                "Eq. 21",
                "ppv = tpr / (tpr + pi_n / pi_p [1 - G^-1(1 - tpr)])",
                "G.precision(tpr, pi_p)",
                equation="tpr / (tpr + pi_n / pi_p * (1 - G.inverse(1 - tpr)))",
            ),
            Item(
                "Eq. 20",
                "the same of data, at another prevalence",
                "trueness.at_threshold(t, tau, prevalence=0.05)['precision'].value",
                equation="0.05 * share(1, tau) / (0.05 * share(1, tau) "
                "+ 0.95 * share(0, tau))",
            ),
        ),
    ),
    Section(
        "4.4 Accuracy",
        (
            Item(
                "Eq. 22",
                "Accuracy = pi_p tpr + pi_n tnr",
                "G.accuracy(1 - fpr, pi_p)",
                equation="pi_p * tpr + pi_n * (1 - fpr)",
            ),
            Item(
                "text",
                "accuracy is not only a function of the composition G",
                "float(G.accuracy(0.9, pi_p)) "
                "== float(pi_p * (1 - G(0.9)) + pi_n * 0.9)",
                printed="False",
                verdict=CORRECTED,
                reason="at a given specificity it is: pi_p (1 - G(u)) + pi_n u. Only at a "
                "fixed raw threshold do F_n and F_p matter",
            ),
        ),
    ),
    Section(
        "4.5 F_beta Score - A Generalized Harmonic Metric",
        (
            Item(
                "Eq. 23",
                "F_beta = (1 + beta^2) precision recall / (beta^2 precision + recall)",
                "G.f_beta(1 - fpr, pi_p, beta=2)",
                equation="5 * G.precision(tpr, pi_p) * tpr "
                "/ (4 * G.precision(tpr, pi_p) + tpr)",
            ),
            Item(
                "Eq. 24",
                "Precision = pi_p tpr / (pi_p tpr + pi_n fpr), Recall = tpr",
                "at['precision'].value",
                equation="0.2 * share(1, tau) / (0.2 * share(1, tau) "
                "+ 0.8 * share(0, tau))",
            ),
            Item(
                "Eq. 25",
                "(1 + beta^2) tpr / (tpr + beta^2 + beta^2 (pi_n / pi_p) (fpr / tpr))",
                "G.f_beta(1 - fpr, pi_p, beta=2)",
                equation="5 * tpr / (tpr + 4 + 4 * pi_n / pi_p * fpr / tpr)",
                verdict=CORRECTED,
                reason="from Eqs 23 and 24 follows (1 + beta^2) tpr / (tpr + beta^2 + "
                "(pi_n / pi_p) fpr)",
            ),
            Item(
                "Eq. 26",
                "the same with F_p and F_n",
                "G.f_beta(negatives.cdf(tau), pi_p, beta=2)",
                equation="5 * positives.sf(tau) / (positives.sf(tau) + 4 * (1 + pi_n "
                "/ pi_p * negatives.sf(tau) / positives.sf(tau)))",
                verdict=CORRECTED,
                reason="as Eq. 25",
            ),
        ),
    ),
    Section(
        "5 Dominating Classifiers",
        (
            Item(
                "Eq. 27",
                "local dominance holds whenever, for a given u, G_1(u) < G_2(u)",
                "bool(np.all(binormal(1, 2)(u) < binormal(1, 1)(u)))",
                printed="True",
                reason="of data `trueness.dominates(panel)`, with a band",
            ),
            Item(
                "Eq. 27",
                "global dominance holds for all u in [0, 1]",
                "bool(binormal(1, 2)(1.0) < binormal(1, 1)(1.0))",
                printed="True",
                verdict=CORRECTED,
                reason="all curves meet at 0 and 1: strict dominance is on (0, 1)",
            ),
            Item(
                "text",
                "ROC dominance guarantees PR dominance, and the reverse",
                "bool(np.all(binormal(1, 2).precision(u, pi_p) "
                "> binormal(1, 1).precision(u, pi_p)))",
                printed="True",
                reason="not strictly, and at the same prevalence",
            ),
            Item(
                "text",
                "two classifiers can have identical ROC/PR curves but different "
                "accuracies",
                "best(t, 'accuracy').value != best(t.map(np.exp), 'accuracy').value",
                printed="True",
                verdict=CORRECTED,
                reason="only at a fixed raw threshold; the best accuracy is that of the "
                "curve and the prevalence",
            ),
            Item(
                "text",
                "a classifier that dominates may still underperform on subgroups",
                figure="groups",
                reason="`trueness.compare_groups`",
            ),
        ),
    ),
    Section(
        "6 Design Constraints and Operating Point Selection",
        (
            Item(
                "Eq. 28",
                "pi_p tpr + pi_n fpr <= m: limited capacity",
                "best(t, 'recall', 'flagged_rate <= 0.2').value",
                equation="max(share(1, c) for c in cuts "
                "if 0.2 * share(1, c) + 0.8 * share(0, c) <= 0.2)",
            ),
            Item(
                "6.1",
                "a triangular region, M <= P",
                "bool(best(t, 'recall', 'flagged <= 250').confusion.tp <= t.n_pos < 250)",
                printed="False",
                verdict=CORRECTED,
                reason="a triangle only if m is at most both class proportions; M <= P is "
                "not needed, here M = 250 and P = 100",
            ),
            Item(
                "Eq. 29",
                "alpha pi_n fpr + beta pi_p (1 - tpr) <= c: bounded risk",
                "best(t, 'recall', 'cost(fp=1, fn=3) <= 200').value",
                equation="max(share(1, c) for c in cuts "
                "if 400 * share(0, c) + 3 * 100 * (1 - share(1, c)) <= 200)",
            ),
            Item(
                "Eq. 30",
                "C = (1 - lambda) performance + lambda (1 - cost)",
                "best(t, '0.7*accuracy + 0.3*(1 - fnr)').value",
                equation="max(0.7 * np.mean((score >= c) == y) + 0.3 * share(1, c) "
                "for c in cuts)",
                reason="here the cost is the proportion of positives missed",
            ),
            Item(
                "6.3",
                "the Pareto front",
                "len(trueness.pareto(t, ('recall', 'precision'))) > 1",
                printed="True",
            ),
            Item(
                "Fig. 4",
                "constrained scenarios and the design regions in the ROC plane",
                figure="constraints",
            ),
            Item(
                "6.3",
                "in multiclass problems the cost becomes a class-dependent matrix",
                "trueness.multiclass_cost([0, 1, 2], three, matrix).decision",
                equation="np.argmin(three @ matrix, axis=1)",
            ),
        ),
    ),
    Section(
        "7 Model Calibration",
        (
            Item(
                "text",
                "proper scoring rules: Brier score",
                "trueness.brier(y, 1 / (1 + np.exp(-score))).value",
                equation="np.mean((1 / (1 + np.exp(-score)) - y) ** 2)",
            ),
            Item(
                "text",
                "log loss",
                "trueness.log_loss(y, 1 / (1 + np.exp(-score))).value",
                equation="-np.mean(np.log(np.where(y == 1, 1 / (1 + np.exp(-score)), "
                "1 - 1 / (1 + np.exp(-score)))))",
            ),
            Item(
                "text",
                "reliability diagrams",
                figure="reliability",
            ),
            Item(
                "text",
                "isotonic regression or Platt scaling",
                "all(k in trueness.CALIBRATORS for k in ('isotonic', 'platt'))",
                printed="True",
            ),
        ),
    ),
    Section(
        "8.1 A Random Classifier",
        (
            Item(
                "Eq. 31",
                "tpr = fpr",
                "binormal(1, 0).tpr(u)",
                equation="u",
            ),
            Item(
                "Eq. 32",
                "better than chance where tpr > fpr, or x > G(x)",
                "bool(np.all(G.tpr(u) > u)) == bool(np.all(u > G(u)))",
                printed="True",
            ),
        ),
    ),
    Section(
        "8.2 An Ideal Classifier",
        (
            Item(
                "Eq. 33",
                "fpr(tau) = 0, tpr(tau) = 1",
                "[trueness.at_threshold(separated, 0.5)[m].value "
                "for m in ('fpr', 'recall')]",
                equation="[0, 1]",
            ),
            Item(
                "Eq. 34",
                "the integral of G is 0, AUROC = 1",
                "[leakage(separated).area, trueness.auc(separated).value]",
                equation="[0, 1]",
            ),
        ),
    ),
    Section(
        "8.3 Classifiers with Binormal Distribution Scores",
        (
            Item(
                "Eq. 35",
                "f_n and f_p are normal densities",
                "G.density(negatives.cdf(tau))",
                equation="positives.pdf(tau) / negatives.pdf(tau)",
            ),
            Item(
                "Eq. 36",
                "F_n = Phi((x - mu_n) / sigma_n), F_p likewise",
                "[negatives.cdf(tau), G(negatives.cdf(tau))]",
                equation="stats.norm.cdf([(tau - 0.0) / 1.0, (tau - 1.5) / 1.2])",
            ),
            Item(
                "Eq. 37",
                "Phi(z), the standard normal CDF",
                "G(0.5)",
                equation="area(lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi), "
                "-40, -b)",
            ),
            Item(
                "Eq. 38",
                "fpr = 1 - Phi((tau - mu_n) / sigma_n), tpr likewise",
                "[fpr, G.tpr(fpr)]",
                equation="[1 - stats.norm.cdf(tau), "
                "1 - stats.norm.cdf((tau - 1.5) / 1.2)]",
            ),
            Item(
                "Eq. 39",
                "fpr(u) = 1 - Phi(u), tpr(u) = 1 - Phi(alpha u - b)",
                "G.tpr(1 - stats.norm.cdf(0.4))",
                equation="1 - stats.norm.cdf(alpha * 0.4 - b)",
            ),
            Item(
                "Eq. 40",
                "alpha = sigma_n / sigma_p, b = (mu_p - mu_n) / sigma_p",
                "[G.alpha, G.b]",
                equation="[1.0 / 1.2, 1.5 / 1.2]",
            ),
            Item(
                "Eq. 41",
                "the ROC curve as a parametric curve",
                "G.tpr(stats.norm.sf([-1, 0, 1]))",
                equation="stats.norm.sf(alpha * np.array([-1, 0, 1]) - b)",
            ),
            Item(
                "Eq. 42",
                "F_n^-1(u) = mu_n + sigma_n Phi^-1(u)",
                "positives.ppf(G(u))",
                equation="0.0 + 1.0 * stats.norm.ppf(u)",
            ),
            Item(
                "Eq. 43",
                "G(u) = Phi(alpha Phi^-1(u) - b)",
                "G(u)",
                equation="stats.norm.cdf(alpha * stats.norm.ppf(u) - b)",
            ),
            Item(
                "Eq. 44",
                "AUROC = Phi((mu_p - mu_n) / sqrt(sigma_n^2 + sigma_p^2))",
                "G.auc",
                equation="stats.norm.cdf(1.5 / np.sqrt(1.0**2 + 1.2**2))",
            ),
            Item(
                "text",
                "when mu_p = mu_n the AUROC degenerates to 0.5",
                "binormal(2, 0).auc",
                printed="0.5",
            ),
            Item(
                "text",
                "or a random classifier",
                "bool(np.allclose(binormal(2, 0).tpr(u), u))",
                printed="True",
                verdict=CORRECTED,
                reason="only if alpha = 1: with b = 0 and alpha = 2 the curve crosses the "
                "diagonal",
            ),
            Item(
                "Fig. 5",
                "ROC curves for Gaussian score classifiers: varying b, alpha, both",
                figure="sameni_figure5",
                reason="the four pairs of (c) are not printed; ours are our own",
            ),
            Item(
                "Fig. 6",
                "Generic ROC family H(u) = 1 - Phi(alpha Phi^-1(1 - u) - b)",
                figure="sameni_figure6",
                reason="the pairs of the figure are not printed; ours are our own",
            ),
            Item(
                "Fig. 6",
                "as alpha increases, classifiers with more confident separation",
                "binormal(2, 0.8).auc > binormal(0.5, 0.8).auc",
                printed="True",
                verdict=CORRECTED,
                reason="AUROC = Phi(b / sqrt(1 + alpha^2)) falls as alpha grows at fixed "
                "b > 0",
            ),
            Item(
                "Fig. 6",
                "Negative b implies that the class labels should be switched",
                "binormal(1, -1).auc",
                equation="1 - binormal(1, 1).auc",
            ),
            Item(
                "Fig. 7",
                "PR curves under varying parameters and class prevalence ratios",
                figure="sameni_figure7",
                reason="pi_p = 0.2, 0.1, 0.3 as printed; the pairs of (c) are our own",
            ),
            Item(
                "Fig. 7",
                "the points of a curve",
                "G.precision(u, 0.1)",
                equation="u / (u + 0.9 / 0.1 * negatives.sf(positives.isf(u)))",
            ),
            Item(
                "Fig. 8",
                "PR curves under fixed b and alpha, pi_p from 0.1 to 0.9",
                figure="sameni_figure8",
                reason="the values of b and alpha are not printed; ours are our own",
            ),
            Item(
                "Fig. 7",
                "decreasing pi_p / pi_n shifts precision downward",
                "bool(G.precision(0.5, 0.1) < G.precision(0.5, 0.3))",
                printed="True",
            ),
        ),
    ),
    Section(
        "A Proof of AUROC = Pr(x_p > x_n)",
        (
            Item(
                "Eq. 45",
                "AUROC = integral of tpr(t) f_n(t)",
                "G.auc",
                equation="area(lambda x: positives.sf(x) * negatives.pdf(x), -9, 12)",
            ),
            Item(
                "Eq. 46",
                "Pr(x_p > x_n) = integral of f_p F_n",
                "G.auc",
                equation="area(lambda x: positives.pdf(x) * negatives.cdf(x), -9, 12)",
            ),
        ),
    ),
    Section(
        "B Kullback-Leibler Divergence vs Positive-to-Negative Class Leakage Function",
        (
            Item(
                "Eq. 47",
                "D_KL(f_p || f_n) = integral of f_p log(f_p / f_n)",
                "G.kl_pos_to_neg",
                equation="area(lambda x: positives.pdf(x) * (positives.logpdf(x) "
                "- negatives.logpdf(x)), -12, 15)",
            ),
            Item(
                "Eq. 48",
                "the same over u = F_n(x)",
                "G.kl_pos_to_neg",
                equation="area(lambda x: ratio(x) * np.log(ratio(x)) "
                "* negatives.pdf(x), -12, 15)",
                reason="integrated over x, where du = f_n(x) dx: near u = 1 a float has "
                "too few digits",
            ),
            Item(
                "Eq. 49",
                "integral of g(u) log g(u)",
                "G.kl_pos_to_neg",
                equation="np.log(alpha) + (1 + b**2) / (2 * alpha**2) - 0.5",
                reason="in nats; the closed form of the binormal",
            ),
            Item(
                "text",
                "the negative differential entropy of g",
                "kl_divergence(t, method='binormal').entropy",
                equation="-kl_divergence(t, method='binormal').kl_pos_to_neg.value",
            ),
        ),
    ),
)

PAPER = Paper(name="sameni2025", setup=SETUP, sections=SECTIONS)
