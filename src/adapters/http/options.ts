import type { Timers } from "../../ports/clock.ts";
import type { Gateway } from "../../ports/gateway.ts";

/** What somebody asks of the door, for `authorize` to judge. */
export interface Ask {
  /** Its headers and URL; the body was read. */
  readonly request: Request;
  readonly agent: string;
  readonly id: string;
  readonly action: "read" | "submit";
}

export interface HttpDoorOptions {
  readonly gateway: Gateway;
  /** False: 403, and nothing is asked of the gateway. Default: everybody that the host and origin checks let in. */
  readonly authorize?: (ask: Ask) => boolean | Promise<boolean>;
  /** Origins of pages on other hosts that may call, as browsers send them: `https://app.example.com`. */
  readonly origins?: readonly string[];
  /** Names beside loopback under which this server is called: `api.example.com`, or with a port to allow only that. */
  readonly hosts?: readonly string[];
  readonly bodyBytesMax?: number;
  /** Silence of a stream between two comments. */
  readonly commentMs?: number;
  /** How long after its end a turn is still shown to a client that resumes. */
  readonly recentMs?: number;
  readonly timers?: Timers;
  /** Told of every error that is answered with 500. */
  readonly onError?: (error: unknown) => void;
}

export type Settings = Required<Omit<HttpDoorOptions, "authorize" | "onError">> &
  Pick<HttpDoorOptions, "authorize" | "onError">;

export function settle(options: HttpDoorOptions): Settings {
  return {
    ...options,
    origins: options.origins ?? [],
    hosts: options.hosts ?? [],
    bodyBytesMax: options.bodyBytesMax ?? 1024 * 1024,
    commentMs: options.commentMs ?? 15_000,
    recentMs: options.recentMs ?? 120_000,
    timers: options.timers ?? platformTimers,
  };
}

const platformTimers: Timers = {
  after(ms, callback) {
    const timer: unknown = setTimeout(callback, ms);
    // On Node a timer would keep the process alive for the sake of a comment; elsewhere a timer is a number.
    if (typeof timer === "object" && timer !== null && "unref" in timer) (timer as { unref(): void }).unref();
    return () => clearTimeout(timer as number);
  },
};
