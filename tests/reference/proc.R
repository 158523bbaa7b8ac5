# Makes proc.json: what R's pROC says about its aSAH data (Turck et al. 2010).
# Rscript tests/reference/proc.R > tests/reference/proc.json
suppressMessages(library(pROC))
data(aSAH)
num <- function(x) {
  text <- sprintf("%.17g", as.numeric(x))
  paste0("[", paste(ifelse(is.na(x), "null", text), collapse = ", "), "]")
}
row <- function(name, value) cat(sprintf('  "%s": %s', name, value))
r <- function(s) roc(aSAH$outcome, s, levels = c("Good", "Poor"), direction = "<")
ndka <- r(aSAH$ndka); s100b <- r(aSAH$s100b); wfns <- r(as.numeric(aSAH$wfns))
cat("{\n")
row("pROC", sprintf('"%s"', packageVersion("pROC"))); cat(",\n")
row("poor", num(aSAH$outcome == "Poor")); cat(",\n")
row("ndka", num(aSAH$ndka)); cat(",\n")
row("s100b", num(aSAH$s100b)); cat(",\n")
row("wfns", num(as.numeric(aSAH$wfns))); cat(",\n")
for (n in c("ndka", "s100b", "wfns")) {
  x <- get(n)
  row(paste0("auc_", n), num(ci.auc(x, method = "delong"))); cat(",\n")
  row(paste0("fpr_", n), num(1 - rev(x$specificities))); cat(",\n")
  row(paste0("tpr_", n), num(rev(x$sensitivities))); cat(",\n")
  row(paste0("pauc_fpr_", n), num(auc(x, partial.auc = c(1, 0.9)))); cat(",\n")
  row(paste0("pauc_fpr_mid_", n), num(auc(x, partial.auc = c(0.8, 0.5)))); cat(",\n")
  row(paste0("pauc_tpr_", n), num(auc(x, partial.auc = c(1, 0.9), partial.auc.focus = "se"))); cat(",\n")
  row(paste0("pauc_fpr_corrected_", n), num(auc(x, partial.auc = c(1, 0.9), partial.auc.correct = TRUE))); cat(",\n")
  row(paste0("pauc_tpr_corrected_", n), num(auc(x, partial.auc = c(1, 0.9), partial.auc.focus = "se", partial.auc.correct = TRUE))); cat(",\n")
}
for (p in list(c("ndka", "s100b"), c("ndka", "wfns"), c("s100b", "wfns"))) {
  t <- roc.test(get(p[1]), get(p[2]), method = "delong", paired = TRUE)
  row(paste0("paired_", p[1], "_", p[2]), num(c(t$estimate, t$statistic, t$p.value, t$conf.int))); cat(",\n")
  t <- roc.test(get(p[1]), get(p[2]), method = "delong", paired = FALSE)
  row(paste0("unpaired_", p[1], "_", p[2]), num(c(t$estimate, t$statistic, t$parameter, t$p.value))); cat(",\n")
}
row("n", num(length(aSAH$ndka))); cat("\n}\n")
