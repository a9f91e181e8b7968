// Refuses an old Node in one line. Plain CommonJS, so that any Node can run it.
const parts = process.versions.node.split(".").map(Number);
const enough = parts[0] > 22 || (parts[0] === 22 && parts[1] >= 18);
if (!enough) {
  console.error(
    "perdure needs Node >= 22.18 and this is " +
      process.versions.node +
      ". The repository brings its own: run `npm rebuild node --ignore-scripts=false`, or put a newer Node on PATH.",
  );
  process.exit(1);
}
