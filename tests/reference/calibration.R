# Reference values of calibration: R's own loess (ICI, E50, E90 as in the appendix of
# Austin and Steyerberg 2019), Hosmer and Lemeshow's statistic as ResourceSelection
# computes it, glm refitted without each cluster (jackknife).
# Run: Rscript tests/reference/calibration.R > tests/reference/calibration.json
library(jsonlite)
set.seed(20261115)
n <- 300
id <- sort(sample(1:40, n, replace = TRUE))
u <- rnorm(40, 0, 0.7)[id]
x <- rnorm(n)
p <- round(plogis(1.3 * x), 6)
y <- rbinom(n, 1, plogis(x + u))
fit <- loess(y ~ p, control = loess.control(surface = "direct"))
away <- abs(predict(fit, newdata = p) - p)
usual <- abs(predict(loess(y ~ p), newdata = p) - p)
g <- 10
cuts <- cut(p, breaks = unique(quantile(p, probs = seq(0, 1, 1 / g))), include.lowest = TRUE)
obs <- xtabs(cbind(1 - y, y) ~ cuts)
expect <- xtabs(cbind(1 - p, p) ~ cuts)
hl <- sum((obs - expect)^2 / expect)
logit <- qlogis(p)
free <- glm(y ~ logit, family = binomial)
fixed <- glm(y ~ 1, offset = logit, family = binomial)
jack <- function(m) {
  left <- sapply(unique(id), function(k) coef(update(m, subset = id != k)))
  left <- matrix(left, ncol = length(unique(id)))
  k <- ncol(left)
  sqrt((k - 1) / k * rowSums((left - rowMeans(left))^2))
}
out <- list(
  y = y, p = p, id = id,
  ici = mean(away), e50 = median(away), e90 = as.numeric(quantile(away, 0.9)), emax = max(away),
  ici_interpolated = mean(usual), hl = hl, hl_p = 1 - pchisq(hl, g - 2),
  slope = as.numeric(coef(free)[2]), slope_se = sqrt(vcov(free)[2, 2]),
  intercept = as.numeric(coef(fixed)), intercept_se = sqrt(vcov(fixed)[1, 1]),
  slope_jackknife = as.numeric(jack(free)[2]), intercept_jackknife = as.numeric(jack(fixed))
)
cat(toJSON(out, digits = 12, auto_unbox = TRUE))
