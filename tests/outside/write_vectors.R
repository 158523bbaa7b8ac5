# What every make.R shares: vectors are collected, then written as JSON.
# An input "$name" stands for the column of that name under "data".
suppressMessages(library(jsonlite))
vectors <- list()
add <- function(call, inputs, number, digits = 9) {
  number <- as.numeric(number)
  stopifnot(length(number) == 1, is.finite(number))
  vectors[[length(vectors) + 1]] <<- list(
    call = call, inputs = inputs, number = number, digits = digits)
}
write_vectors <- function(package, source, compared, data, differs = character()) {
  head <- list(
    suite = package, version = as.character(packageVersion(package)),
    licence = packageDescription(package)$License, source = source, compared = compared,
    differs = I(differs), made_by = "make.R", data = data, vectors = vectors)
  text <- toJSON(head, auto_unbox = TRUE, digits = NA, null = "null")
  # a line for each vector and each column
  text <- gsub('\\{"call"', '\n  {"call"', text)
  text <- gsub('],"', '],\n "', text, fixed = TRUE)
  folder <- file.path("tests/outside", package)
  writeLines(text, file.path(folder, "vectors.json"))
}
