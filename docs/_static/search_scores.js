// Which page comes first in the search of the documentation? Sphinx reads this file as
// `html_search_scorer`. People who search want to do something: how-to pages come before
// the glossary, the glossary before formulas, lists of fields and the changelog.
const PAGE_WEIGHTS = [
  ["howto/index", 0.8],
  ["howto/", 2],
  ["tutorials/", 1.2],
  ["_generated/gallery", 1.2],
  ["_generated/cli", 0.8],
  ["_generated/rooms/records", 0.2],
  ["_generated/json", 0.2],
  ["_generated/", 0.5],
  ["papers/", 0.6],
  ["maths/", 0.7],
  ["words", 0.9],
  ["changelog", 0.1],
];

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  // A result is [page, title, anchor, description, score, file, kind].
  score: ([page, , , , score]) => {
    const found = PAGE_WEIGHTS.find(([beginning]) => page.startsWith(beginning));
    return score * (found ? found[1] : 1);
  },
};

// Sphinx finds a phrase only if it stands in an index entry as it was typed, and a page
// only if it holds every word. The two functions below add what stands there in another
// order, and pages with most of the words where none has all.
const LEAST_OVERLAP = 0.6;

function wordsOf(text) {
  const stemmer = new Stemmer();
  const words = text.toLowerCase().match(/[\p{L}\p{N}@]+/gu) || [];
  return new Set(
    words.filter((word) => !stopwords.has(word)).map((w) => stemmer.stemWord(w)),
  );
}

function entriesWithWords(query) {
  const { indexentries, docnames, titles, filenames } = Search._index;
  const asked = wordsOf(query);
  const results = [];
  for (const [entry, places] of Object.entries(indexentries)) {
    const words = wordsOf(entry);
    const shared = [...asked].filter((word) => words.has(word)).length;
    const overlap = (2 * shared) / (asked.size + words.size);
    if (!(overlap >= LEAST_OVERLAP)) continue;
    for (const [file, id, isMain] of places) {
      if (!isMain) continue;
      results.push([
        docnames[file],
        titles[file],
        id ? "#" + id : "",
        null,
        60 * overlap,
        filenames[file],
        SearchResultKind.index,
      ]);
    }
  }
  return results;
}

function pagesWithSomeWords(terms, excluded) {
  const pages = new Map();
  for (const term of terms) {
    for (const page of Search.performTermsSearch(new Set([term]), excluded)) {
      const known = pages.get(page[0]);
      if (known) known[4] += page[4];
      else pages.set(page[0], page);
    }
  }
  return [...pages.values()];
}

function addResults() {
  if (typeof Search === "undefined") return;
  const exact = Search._performSearch;
  Search._performSearch = (query, terms, excluded, ...others) => {
    const found = exact(query, terms, excluded, ...others);
    const more = entriesWithWords(query);
    if (!found.length && !more.length) more.push(...pagesWithSomeWords(terms, excluded));
    more.forEach((item) => (item[4] = Scorer.score(item)));

    // the last result is shown first
    const results = [...found, ...more].sort((a, b) => a[4] - b[4]);
    const last = new Map(results.map((item) => [item[0] + item[2] + item[3], item]));
    return results.filter((item) => last.get(item[0] + item[2] + item[3]) === item);
  };
}

if (typeof document !== "undefined")
  document.addEventListener("DOMContentLoaded", addResults);
