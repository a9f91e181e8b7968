import { refuse } from "./answer.ts";

/** The body's text. The limit holds while reading: a client that lies about its length is cut off at the limit. */
export async function readBody(request: Request, bytesMax: number): Promise<string> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(?:;|$)/i.test(type.trim())) {
    refuse("BAD_REQUEST", "The content type is not application/json.", "Send JSON, and say so in content-type.", 415);
  }
  if (Number(request.headers.get("content-length") ?? 0) > bytesMax) tooLarge(bytesMax);
  return decode(await readBytes(request, bytesMax));
}

async function readBytes(request: Request, bytesMax: number): Promise<readonly Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  if (request.body === null) return pieces;
  const reader = request.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return pieces;
      bytes += value.byteLength;
      if (bytes > bytesMax) break;
      pieces.push(value);
    }
  } catch {
    refuse("BAD_REQUEST", "The body broke off.", "Nothing was stored. Send the request again.");
  }
  // Not awaited: the rest is the server's to drain, and may never come.
  reader.cancel().catch(() => {});
  tooLarge(bytesMax);
}

function decode(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("") + decoder.decode();
  } catch {
    refuse("BAD_REQUEST", "The body is not UTF-8.", "Nothing was stored. Send JSON in UTF-8.");
  }
}

function tooLarge(bytesMax: number): never {
  const next = "Nothing was stored. Send only the last message, and files by URL, or raise `bodyBytesMax`.";
  refuse("BAD_REQUEST", `The body is larger than ${bytesMax} bytes.`, next, 413);
}
