# Reference values of nri and idi: Hmisc's improveProb (Pencina et al. 2008).
# Run: Rscript tests/reference/reclassification.R
suppressMessages(library(Hmisc))
i <- 1:120
y <- as.integer((i * 7) %% 10 < 3)
a <- ((i * 37) %% 101 + 1) / 103
b <- 0.7 * ((i * 53) %% 101 + 1) / 103 + 0.2 * y
z <- improveProb(a, b, y)
cat(sprintf("%.15g", c(z$nri, z$nri.ev, z$nri.ne, z$idi, z$se.idi)), sep = "\n")
