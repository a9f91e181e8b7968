/** What a request asks for, read strictly: a value that is not understood is refused, never guessed at. */
import { idFault } from "../../core/ids.ts";
import { parseEventId, parseOffset } from "../../wire/sse.ts";
import { refuse } from "./answer.ts";

/** A segment of the path, percent-decoded. The first has index 0. */
export function segment(request: Request, index: number): string {
  const raw = new URL(request.url).pathname.split("/")[index + 1] ?? "";
  try {
    return decodeURIComponent(raw);
  } catch {
    refuse("BAD_ID", "A part of the path is not percent-encoded UTF-8.", "Encode ids with encodeURIComponent.");
  }
}

/** An id in the path. */
export function idSegment(request: Request, index: number): string {
  const id = segment(request, index);
  const fault = idFault(id);
  if (fault !== null) refuse("BAD_ID", `The id in the path ${fault}.`, "Choose another id.");
  return id;
}

/** Where to take up a stream: the first offset to send. */
export interface Place {
  readonly turn: string;
  readonly from: number;
}

/** Null: the client names no turn, and wants what runs. `Last-Event-ID` is newer than the URL that it was opened with. */
export function placeOf(request: Request): Place | null {
  const lastEventId = request.headers.get("last-event-id") ?? "";
  if (lastEventId !== "") {
    const seen = parseEventId(lastEventId);
    if (seen === null) {
      refuse("BAD_REQUEST", "Last-Event-ID is not <turnId>:<offset>.", "Send the last `id:` line that was seen.");
    }
    return { turn: seen.turn, from: seen.offset + 1 };
  }
  const { searchParams } = new URL(request.url);
  const turn = searchParams.get("turn");
  const after = searchParams.get("after");
  if (turn === null) {
    if (after !== null) refuse("BAD_REQUEST", "`after` is given without `turn`.", "Name the turn that it counts in.");
    return null;
  }
  const fault = idFault(turn);
  if (fault !== null) refuse("BAD_ID", `\`turn\` ${fault}.`, "Send a turn id that this server gave.");
  if (after === null) return { turn, from: 0 };
  const offset = parseOffset(after);
  if (offset === null)
    refuse("BAD_REQUEST", "`after` is not an offset.", "Send the last offset that was seen, from 0.");
  return { turn, from: offset + 1 };
}

export interface Page {
  /** The depth of the last message that was seen; -1 for none. */
  readonly after: number;
  readonly limit: number;
}

const pageDefault = 100;
const pageMax = 500;

export function pageOf(request: Request): Page {
  const { searchParams } = new URL(request.url);
  const cursor = searchParams.get("after");
  const after = cursor === null ? -1 : parseOffset(cursor);
  if (after === null) refuse("BAD_REQUEST", "`after` is not a cursor.", "Send the `next` of the page before.");
  const count = searchParams.get("limit");
  const limit = count === null ? pageDefault : parseOffset(count);
  if (limit === null || limit < 1 || limit > pageMax) {
    refuse("BAD_REQUEST", "`limit` is out of range.", `Send a whole number from 1 to ${pageMax}.`);
  }
  return { after, limit };
}
