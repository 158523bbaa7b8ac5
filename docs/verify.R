# Checks a declaration of Trueness (counts.md) by its own counts: Rscript verify.R declaration.json
# Values, bounds, 2x2 tables and intervals: of proportions (Wilson 1927), of the AUC (Newcombe
# 2006, method 5), of means and ratios (Student). Exit code 4 where one does not follow.
# Claims are checked by the page and by trueness verify. Needs jsonlite.
file <- commandArgs(trailingOnly = TRUE)[1]
if (file.size(file) > 16e6) stop("a declaration has at most 16 MB")
d <- jsonlite::fromJSON(file, simplifyVector = FALSE)
stopifnot(identical(d$trueness, "declaration"), d$version == 1)

read <- function(x) if (is.null(x)) NaN else if (is.character(x)) as.numeric(sub("infinity", "Inf", x)) else x
numbers <- function(x) vapply(x, read, 0)
shown_as <- function(value, stated) { # half a unit of the fourth digit apart
  if (is.nan(value) || is.nan(stated)) return(is.nan(value) && is.nan(stated))
  if (value == stated || is.infinite(value) || is.infinite(stated)) return(value == stated)
  abs(value - stated) <= 0.500001 * 10^(floor(log10(max(abs(value), abs(stated)))) - 3) + 1e-12
}
rows_of <- function(columns) {
  high <- if (is.null(columns$high)) columns$score else columns$high
  rows <- data.frame(low = numbers(columns$score), high = numbers(high), neg = numbers(columns$neg),
                     pos = numbers(columns$pos), unknown = numbers(columns$unknown))
  rows[order(-rows$low), ]
}
table_at <- function(rows, threshold) { # smallest and largest number in each cell
  cells <- list()
  for (kind in c("pos", "neg", "unknown")) {
    least <- sum(rows[[kind]][rows$low >= threshold])
    open <- sum(rows[[kind]][rows$low < threshold & rows$high >= threshold])
    names <- list(pos = c("tp", "fn"), neg = c("fp", "tn"), unknown = c("unknown_flagged", "unknown_not_flagged"))[[kind]]
    cells[[names[1]]] <- c(least, least + open)
    cells[[names[2]]] <- sum(rows[[kind]]) - c(least + open, least)
  }
  cells
}
metric_of <- function(name, tp, fp, fn, tn, threshold, prevalence) {
  if (!is.null(prevalence) && name %in% c("precision", "npv", "net_benefit")) {
    n <- tp + fp + fn + tn
    up <- n * prevalence / (tp + fn); along <- n * (1 - prevalence) / (fp + tn)
    tp <- tp * up; fn <- fn * up; fp <- fp * along; tn <- tn * along
  }
  switch(name, recall = tp / (tp + fn), specificity = tn / (fp + tn), precision = tp / (tp + fp), npv = tn / (fn + tn),
         lr_positive = tp * (fp + tn) / ((tp + fn) * fp), lr_negative = fn * (fp + tn) / ((tp + fn) * tn),
         net_benefit = (tp - threshold / (1 - threshold) * fp) / (tp + fp + fn + tn))
}
wilson <- function(p, n, level, quantile = qnorm((1 + level) / 2)) {
  r <- quantile^2 / n
  half <- sqrt(r * p * (1 - p) + r^2 / 4)
  c(max(0, min((p + r / 2 - half) / (1 + r), p)), min(1, max((p + r / 2 + half) / (1 + r), p)))
}
allow_for_bins <- function(m) { # both ends move as far as bins leave the value open
  if (!is.null(m$bounds)) m$interval <- c(max(m$interval[1] - (m$value - m$bounds[1]), 0), min(m$interval[2] + (m$bounds[2] - m$value), 1))
  m
}
student_of <- function(strata, level) { # variance of a sum, and Student's quantile (Satterthwaite 1946)
  variance <- 0; noise <- 0
  for (s in strata) { # u: influence, cases: how many have it
    n <- sum(s$cases); squares <- sum(s$cases * s$u^2); fourth <- sum(s$cases * s$u^4)
    variance <- variance + squares * n / (n - 1)
    noise <- noise + max(fourth - squares^2 / n, 2 * squares^2 / (n - 1)) * (n / (n - 1))^2
  }
  list(variance = variance, quantile = qt((1 + level) / 2, max(2 * variance^2 / noise, 1)))
}
mean_interval <- function(x, cases, low, high, level) { # of a mean between two ends: Wilson's form
  n <- sum(cases); mean <- sum(x * cases) / n; width <- high - low
  s <- student_of(list(list(u = (x - mean) / n, cases = cases)), level)
  p <- (mean - low) / width
  low + width * wilson(p, p * (1 - p) * width^2 / s$variance, quantile = s$quantile)
}
ratio_interval <- function(name, tp, fp, fn, tn, level) { # of a likelihood ratio, on the logarithmic scale
  n <- tp + fn; m <- fp + tn; p <- tp / n; q <- fp / m; up <- name == "lr_positive"
  value <- if (up) p / q else (1 - p) / (1 - q)
  by_p <- if (up) 1 / q else -1 / (1 - q); by_q <- if (up) -p / q^2 else (1 - p) / (1 - q)^2
  s <- student_of(list(list(u = c(1 - p, -p) * by_p / n, cases = c(tp, fn)), list(u = c(1 - q, -q) * by_q / m, cases = c(fp, tn))), level)
  value * exp(c(-1, 1) * s$quantile * sqrt(s$variance) / value)
}
metric_at <- function(name, rows, threshold, prevalence, level) {
  t <- table_at(rows, threshold); n <- sum(rows$pos); m <- sum(rows$neg)
  at <- function(tp, fp) metric_of(name, tp, fp, n - tp, m - fp, threshold, prevalence)
  found <- list(value = at(t$tp[1], t$fp[1]))
  if (t$tp[1] < t$tp[2] || t$fp[1] < t$fp[2]) {
    corners <- c(at(t$tp[1], t$fp[1]), at(t$tp[1], t$fp[2]), at(t$tp[2], t$fp[1]), at(t$tp[2], t$fp[2]))
    found$bounds <- range(corners, na.rm = TRUE)
  }
  cases <- c(recall = n, specificity = m, precision = t$tp[1] + t$fp[1], npv = n - t$tp[1] + m - t$fp[1])
  if (name %in% names(cases) && (is.null(prevalence) || name %in% c("recall", "specificity"))) {
    found$interval <- if (cases[[name]] > 0) wilson(found$value, cases[[name]], level) else c(NaN, NaN)
    found <- allow_for_bins(found)
  }
  tp <- t$tp[1]; fp <- t$fp[1]
  if (is.null(found$bounds) && min(tp, fp, n - tp, m - fp) > 0) { # both classes vary
    if (startsWith(name, "lr_")) found$interval <- ratio_interval(name, tp, fp, n - tp, m - fp, level)
    odds <- threshold / (1 - threshold)
    if (name == "net_benefit" && is.null(prevalence)) found$interval <- mean_interval(c(1, -odds, 0), c(tp, fp, n - tp + m - fp), -odds, 1, level)
  }
  found
}
model_variance <- function(a, n, m) { # Hanley and McNeil, class sizes averaged
  both <- a^2 * (1 - a) / (1 + a) + a * (1 - a)^2 / (2 - a)
  (a * (1 - a) + ((n + m) / 2 - 1) * both) / (n * m)
}
kurtosis <- function(a) { # of placements under the model
  upper <- max(a, 1 - a); wide <- (1 - upper) / upper; compact <- upper / max(1 - upper, 1e-300)
  moments <- function(r) c(r[2] - r[1]^2, r[4] - 4 * r[3] * r[1] + 6 * r[2] * r[1]^2 - 3 * r[1]^4)
  both <- (moments(wide / (wide + 1:4)) + moments(cumprod(c(1, 2, 3, 4) / (compact + 1:4)))) / 2
  both[2] / max(both[1]^2, 1e-300)
}
auc <- function(rows, level) {
  n <- sum(rows$pos); m <- sum(rows$neg)
  above <- cumsum(rows$pos) - rows$pos; above_neg <- cumsum(rows$neg) - rows$neg
  a <- sum(rows$neg * (2 * above + rows$pos)) / (2 * n * m)
  open <- sum((rows$pos * rows$neg)[rows$high > rows$low]) / (2 * n * m)
  found <- list(value = a, bounds = if (open > 0) c(max(a - open, 0), min(a + open, 1)))
  variance <- sum(rows$neg * ((above + rows$pos / 2) / n - a)^2) / m / (m - 1) +
    sum(rows$pos * (1 - (above_neg + rows$neg / 2) / m - a)^2) / n / (n - 1)
  effect <- 1; quantile <- qnorm((1 + level) / 2)
  if (a > 0 && a < 1 && variance > 0) {
    effect <- variance / model_variance(a, n, m); quantile <- qt((1 + level) / 2, min(n, m) - 1)
    if (effect < 1) { # a small variance is mostly chance: moderated
      u <- c(n, m); noise <- sum((1 / u / sum(1 / u))^2 * (kurtosis(a) / u - (u - 3) / (u * (u - 1))))
      effect <- 1 + max((effect - 1)^2 - noise, 0) / max((effect - 1)^2, 1e-300) * (effect - 1)
    }
  }
  distance <- function(x) (x - a)^2 - quantile^2 * model_variance(x, n / effect, m / effect)
  end <- function(x) if (distance(x) <= 0) x else uniroot(distance, sort(c(x, a)), tol = 1e-14)$root
  found$interval <- c(end(0), end(1))
  allow_for_bins(found)
}
brier <- function(rows, prevalence, level) { # positives at the upper, or lower, end of each bin
  n <- sum(rows$pos); m <- sum(rows$neg); share <- if (is.null(prevalence)) n / (n + m) else prevalence
  ends <- function(p, q) share * sum(rows$pos * (1 - rows[[p]])^2) / n + (1 - share) * sum(rows$neg * rows[[q]]^2) / m
  both <- c(ends("high", "low"), ends("low", "high"))
  found <- list(value = both[1], bounds = if (both[1] < both[2]) both)
  if (!is.null(prevalence)) return(found)
  x <- c(rows$low^2, (1 - rows$low)^2); cases <- c(rows$neg, rows$pos)
  if (!is.null(found$bounds)) found$value <- sum(x * cases) / sum(cases)
  found$interval <- mean_interval(x, cases, 0, 1, level)
  allow_for_bins(found)
}

wrong <- 0
say <- function(name, same) { if (!isTRUE(same)) wrong <<- wrong + 1; cat(name, ": ", if (isTRUE(same)) "follows" else "does not follow", "\n", sep = "") }
counts <- d$evidence$counts
if (is.null(counts) || !is.null(counts$columns$cluster) || !is.null(counts$columns$neg_squares)) stop("only counted, independent cases are checked here")
prevalence <- counts$design$prevalence
whole <- rows_of(counts$columns)
groups <- lapply(d$evidence$groups, lapply, function(g) rows_of(g$columns))
rows_in <- function(x) if (is.null(x$column)) whole else groups[[x$column]][[x$group]]
name_of <- function(x) paste0(if (!is.null(x$threshold)) paste(" at", x$threshold), if (!is.null(x$column)) paste(" in", x$column, x$group))
for (column in names(groups)) for (kind in c("neg", "pos", "unknown"))
  say(paste(kind, "of all groups of", column), sum(sapply(groups[[column]], function(g) sum(g[[kind]]))) == sum(whole[[kind]]))
for (x in d$measured) {
  if (startsWith(x$measure, "calibration_")) next # computed by trueness verify
  found <- switch(x$measure, auc = auc(rows_in(x), d$level), brier = brier(rows_in(x), prevalence, d$level),
                  metric_at(x$measure, rows_in(x), x$threshold, prevalence, d$level))
  name <- paste0(x$measure, name_of(x)); value <- read(x$value)
  if (is.null(found$bounds)) say(name, shown_as(found$value, value))
  else if (!is.null(x$threshold)) say(name, is.nan(value))
  else say(name, (value >= found$bounds[1] && value <= found$bounds[2]) || shown_as(found$bounds[1], value) || shown_as(found$bounds[2], value))
  if (!is.null(found$bounds) || !is.null(x$bounds))
    say(paste0(name, ", bounds"), length(found$bounds) == length(x$bounds) && all(mapply(shown_as, found$bounds, numbers(x$bounds))))
  if (!is.null(found$interval)) say(paste0(name, ", interval"), shown_as(found$interval[1], read(x$low)) && shown_as(found$interval[2], read(x$high)))
}
for (x in d$tables) {
  cells <- table_at(rows_in(x), x$threshold)
  for (cell in names(cells)) say(paste0("table", name_of(x), ", ", cell), all(rep_len(numbers(x[[cell]]), 2) == cells[[cell]]))
}
if (wrong > 0) quit(status = 4)
