// Prints how large the house is: files, largest file, largest function, per room, and what is excused.
import { files, measure } from "../test/tidy/house.ts";
import { exceptions, roomOf, sizes } from "../test/tidy/rules.ts";

const sources = ["src", "test", "scripts", "examples"]
  .flatMap((folder) => files(folder, /\.tsx?$/))
  .map((path) => ({
    ...measure(path),
    room: path.startsWith("src/") ? (roomOf(path) ?? "?") : `(${path.split("/")[0]})`,
  }));

const rows = [...new Set(sources.map(({ room }) => room))].sort().map((room) => {
  const own = sources.filter((source) => source.room === room).sort((a, b) => b.lines - a.lines);
  const [file] = own;
  const [longest] = own
    .flatMap(({ path, functions }) => functions.map((measured) => ({ ...measured, path })))
    .sort((a, b) => b.lines - a.lines);
  return {
    room,
    files: own.length,
    lines: own.reduce((sum, { lines }) => sum + lines, 0),
    "largest file": file ? `${file.lines} ${file.path}` : "",
    "largest function": longest ? `${longest.lines} ${longest.name} (${longest.path}:${longest.line})` : "",
  };
});
console.table(rows);

const soft = sources.filter(({ path, lines }) => path.startsWith("src/") && lines > sizes.fileSoft);
console.log(
  `${soft.length} files of src over ${sizes.fileSoft} lines${soft.map(({ path }) => `\n  ${path}`).join("")}`,
);
const wide = sources
  .filter(({ path }) => path.startsWith("src/"))
  .flatMap(({ path, classes }) => classes.map((measured) => ({ ...measured, path })))
  .filter(({ methods, fields }) => methods > sizes.methodsSoft || fields > sizes.fieldsSoft)
  .map(({ name, path, methods, fields }) => `\n  ${name} (${path}): ${methods} methods, ${fields} fields`);
console.log(`${wide.length} classes over ${sizes.methodsSoft} methods or ${sizes.fieldsSoft} fields${wide.join("")}`);
console.log(`${exceptions.length} exceptions${exceptions.map((e) => `\n  ${e.rule} ${e.path}: ${e.reason}`).join("")}`);
