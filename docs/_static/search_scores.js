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
  ["papers/", 1],
  ["maths/", 0.7],
  ["comparison", 1.5],
  ["support", 1.5],
  ["faq", 1.2],
  ["words", 0.9],
  ["architecture", 0.5],
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
// only if it holds every word. The functions below score every page by the words that it
// has: in its index entries, in its headings, in its text. A word counts by its inverse
// document frequency (Sparck Jones 1972): "auc" stands on most pages and says little.
const FIELD_WEIGHTS = { entry: 1, heading: 0.7, text: 0.25 };
const PAGE_POINTS = 40;

// a query that is the title of a page, such as "changelog"; the pages of formulas have
// titles that how-to pages answer better, such as "calibration"
const TITLE_POINTS = 1000;
const WITHOUT_TITLES = ["maths/", "_generated/rooms/"];

// an entry that has most of the words, in any order
const ENTRY_POINTS = 60;
const LEAST_OVERLAP = 0.6;

// words of a question that say nothing of its subject: "how do I get ..."
const QUESTION_WORDS = new Set(
  (
    "how do does i my can could should would may must what which when where why get " +
    "make put tell use want need each several between within"
  ).split(" "),
);

function wordsOf(text) {
  const stemmer = new Stemmer();
  const words = text.toLowerCase().match(/[\p{L}\p{N}@]+/gu) || [];
  // a number alone says nothing: "90% recall", "95 % CI"
  const telling = words.filter(
    (word) => !stopwords.has(word) && !QUESTION_WORDS.has(word) && !/^\d+$/.test(word),
  );
  return new Set(telling.map((word) => stemmer.stemWord(word)));
}

function isTitle(query, title) {
  return query.trim().toLowerCase() === title.toLowerCase();
}

// the entries of every page as sets of words, and where on the page they stand
function entriesByPage() {
  const pages = new Map();
  for (const [entry, places] of Object.entries(Search._index.indexentries)) {
    const words = wordsOf(entry);
    for (const [file, id, isMain] of places) {
      if (!isMain) continue;
      if (!pages.has(file)) pages.set(file, []);
      pages.get(file).push({ words, id });
    }
  }
  return pages;
}

// for every word the pages that have it, with the weight of the best field
function fieldsByWord(entries) {
  const found = new Map();
  const add = (word, file, field) => {
    if (!found.has(word)) found.set(word, new Map());
    const pages = found.get(word);
    pages.set(file, Math.max(FIELD_WEIGHTS[field], pages.get(file) || 0));
  };
  const { terms, titleterms } = Search._index;
  for (const [word, files] of Object.entries(terms))
    [files].flat().forEach((file) => add(word, file, "text"));
  for (const [word, files] of Object.entries(titleterms))
    [files].flat().forEach((file) => add(word, file, "heading"));
  for (const [file, list] of entries)
    for (const { words } of list) words.forEach((word) => add(word, file, "entry"));
  return found;
}

let prepared;

function pagesWithWords(query) {
  const { docnames, titles, filenames } = Search._index;
  if (!prepared) {
    const entries = entriesByPage();
    prepared = { entries, fields: fieldsByWord(entries) };
  }
  const { entries, fields } = prepared;
  const rarity = (word) => Math.log(1 + docnames.length / (fields.get(word)?.size || 1));
  const weightOf = (words) => words.reduce((sum, word) => sum + rarity(word), 0);

  const asked = [...wordsOf(query)].filter((word) => fields.has(word));
  const weightAsked = weightOf(asked);
  return docnames.map((name, file) => {
    const best = { overlap: 0, id: "" };
    for (const { words, id } of entries.get(file) || []) {
      const shared = asked.filter((word) => words.has(word));
      const overlap = (2 * weightOf(shared)) / (weightAsked + weightOf([...words]));
      if (overlap > best.overlap) Object.assign(best, { overlap, id });
    }
    const held = asked.reduce(
      (sum, word) => sum + rarity(word) * (fields.get(word).get(file) || 0),
      0,
    );
    let points = weightAsked ? (PAGE_POINTS * held) / weightAsked : 0;
    if (isTitle(query, titles[file]) && !WITHOUT_TITLES.some((part) => name.startsWith(part)))
      points += TITLE_POINTS;
    let anchor = "";
    if (best.overlap >= LEAST_OVERLAP) {
      points += ENTRY_POINTS * best.overlap;
      anchor = best.id ? "#" + best.id : "";
    }
    return [name, titles[file], anchor, null, points, filenames[file], "index"];
  });
}

// pages with less than this part of the best page's score are not shown
const LEAST_PART = 0.2;

function addResults() {
  if (typeof Search === "undefined") return;
  const exact = Search._performSearch;
  Search._performSearch = (query, ...terms) => {
    const more = pagesWithWords(query);
    more.forEach((item) => (item[4] = Scorer.score(item)));
    const best = Math.max(...more.map((item) => item[4]));
    const shown = more.filter((item) => item[4] > 0 && item[4] >= LEAST_PART * best);

    // a page stands once, with the sum of its best score by either search; a result with
    // a description is an object of the reference
    const byPage = new Map(shown.map((item) => [item[0], item]));
    const bestExact = new Map();
    const objects = [];
    for (const item of exact(query, ...terms)) {
      const [page, , , description, score] = item;
      if (description) objects.push(item);
      else if (score > (bestExact.get(page)?.[4] || 0)) bestExact.set(page, item);
    }
    for (const [page, item] of bestExact)
      if (byPage.has(page)) byPage.get(page)[4] += item[4];
      else byPage.set(page, item);

    // the last result is shown first
    return [...byPage.values(), ...objects].sort((a, b) => a[4] - b[4]);
  };
}

// searchtools.js is loaded before this file, and asks as soon as the page is ready
addResults();
