# Makes survey.json: standard errors, linearised and by the jackknife (JK1: each unit is
# left out in turn), and effective numbers of cases, by R's survey (Lumley 2004).
# Rscript tests/reference/survey.R > tests/reference/survey.json
suppressMessages(library(survey))
options(survey.lonely.psu = "fail")
set.seed(7)
num <- function(x) paste0("[", paste(sprintf("%.17g", as.numeric(x)), collapse = ", "), "]")
n <- 120
cluster <- sort(sample(1:18, n, replace = TRUE))
alike <- rnorm(18)[cluster]
y <- as.integer(runif(n) < plogis(-0.7 + alike))
s <- round(plogis(-0.7 + 1.3 * y + 0.6 * alike + rnorm(n)), 2)
w <- round(exp(0.5 * rnorm(n)), 3)
d <- data.frame(y, s, w, cluster, one = 1, case = 1:n, square = (s - y)^2,
                apart = (s + 1:n / 1e5 - y)^2, flag = as.integer(s >= 0.5))
d$tp <- d$y * d$flag; d$fp <- (1 - d$y) * d$flag; d$right <- as.integer(d$flag == d$y)
designs <- list(
  plain = svydesign(ids = ~case, weights = ~one, data = d),
  weights = svydesign(ids = ~case, weights = ~w, data = d),
  clusters = svydesign(ids = ~cluster, weights = ~one, data = d),
  both = svydesign(ids = ~cluster, weights = ~w, data = d))
cat("{\n")
cat(sprintf('  "survey": "%s",\n', packageVersion("survey")))
for (k in c("y", "s", "w", "cluster")) cat(sprintf('  "%s": %s,\n', k, num(d[[k]])))
both <- function(x) num(c(coef(x), SE(x)))
lines <- function(row, by = "    ") paste0(
  "{\n", paste(sprintf('%s"%s": %s', by, names(row), row), collapse = ",\n"), "\n",
  substring(by, 3), "}")
# all values are computed anew without each unit; mse: around the value of all units
jk1 <- function(D, f) both(withReplicates(
  as.svrepdesign(D, type = "JK1", mse = TRUE, compress = FALSE),
  function(w, data) f(w, data)))
share <- function(top, under) function(w, x) sum(w * x[[top]]) / sum(w * x[[under]])
f1 <- function(flag) function(w, x) 2 * sum(w * x$y * x[[flag]]) / sum(w * (x[[flag]] + x$y))
ap <- function(w, x) {  # cases of one score are flagged together
  cuts <- sort(unique(x$s[x$y == 1 & w > 0]))
  sum(sapply(cuts, function(k) sum((w * x$y)[x$s == k]) * sum((w * x$y)[x$s >= k]) /
                               sum(w[x$s >= k]))) / sum(w * x$y)
}
rows <- c()
for (k in names(designs)) {
  D <- designs[[k]]
  m <- svymean(~right, D)
  by <- svyby(~flag, ~y, D, svymean)
  row <- c(
    brier = both(svymean(~square, D)),
    accuracy = both(svymean(~right, D)),
    precision = both(svyratio(~tp, ~flag, D)),
    recall = both(svyratio(~tp, ~y, D)),
    recall_by = num(c(by$flag[by$y == 1], by$se[by$y == 1])),
    fpr_by = num(c(by$flag[by$y == 0], by$se[by$y == 0])),
    f1 = both(svycontrast(svytotal(~tp + flag + y, D), quote(2 * tp / (flag + y)))),
    beta = num(c(coef(svyciprop(~right, D, method = "beta")),
                 attr(svyciprop(~right, D, method = "beta"), "ci"))),
    n_eff = num(coef(m) * (1 - coef(m)) / vcov(m) *
                (qt(0.025, n - 1) / qt(0.025, degf(D)))^2))
  row <- c(row, jk1 = lines(c(
    brier = jk1(D, share("square", "one")),
    brier_apart = jk1(D, share("apart", "one")),  # no two scores are tied
    accuracy = jk1(D, share("right", "one")),
    precision = jk1(D, share("tp", "flag")),
    recall = jk1(D, share("tp", "y")),
    f1 = jk1(D, f1("flag")),
    average_precision = jk1(D, ap)), "      "))
  rows <- c(rows, sprintf('  "%s": %s', k, lines(row)))
}
# weighted cases of tests/metrics/test_intervals.py
i <- 1:40
d <- data.frame(y = as.integer((i * 5) %% 7 < 3), flag = as.integer((i * 3) %% 8 < 4),
                w = 1 + ((i * 7) %% 11) / 2, one = 1, case = i)
d$tp <- d$y * d$flag; d$right <- as.integer(d$flag == d$y)
D <- svydesign(ids = ~case, weights = ~w, data = d)
rows <- c(rows, sprintf('  "shares": %s', lines(c(
  recall = jk1(D, share("tp", "y")),
  precision = jk1(D, share("tp", "flag")),
  accuracy = jk1(D, share("right", "one"))))))
# two classifiers of tests/comparison/test_paired.py: differences
i <- 1:60
p <- (((i * 3) %% 19) / 19 + 0.02) / 1.05
d <- data.frame(y = as.integer((i * 5) %% 7 < 3), a = as.integer(p >= 0.5),
                b = as.integer(p[c(60, 1:59)] >= 0.5), w = 1 + ((i * 7) %% 11) / 2,
                case = i, cluster = (i * 7) %% 13)
d$tp_a <- d$y * d$a; d$tp_b <- d$y * d$b
less <- function(f, g) function(w, x) f(w, x) - g(w, x)
for (k in c("cluster", "case")) {
  D <- svydesign(ids = d[k], weights = ~w, data = d)
  rows <- c(rows, sprintf('  "pair by %s": %s', k, lines(c(
    recall = jk1(D, less(share("tp_a", "y"), share("tp_b", "y"))),
    f1 = jk1(D, less(f1("a"), f1("b")))))))
}
cat(paste(rows, collapse = ",\n"), "\n}\n")
