/** Where a store lives, and what can be said of it without SQLite: nothing here changes a byte. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  statfsSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { damagedFile, newer, unfitFilesystem, unwritable } from "./errors.ts";
import { applicationId, schemaVersion } from "./schema.ts";

export interface Place {
  /** The real path of the database: two names of one file are one place. */
  readonly path: string;
  /** The owner lock beside it. */
  readonly ownerPath: string;
}

/** The real place of a path. Throws STORE_UNWRITABLE. */
export function placeOf(given: string): Place {
  const wanted = resolve(given);
  const parent = dirname(wanted);
  if (!isDirectory(parent)) throw unwritable(wanted, `its folder ${parent} does not exist`);
  const path = exists(wanted) ? realpathOf(wanted) : join(realpathSync(parent), basename(wanted));
  if (isDirectory(path)) throw unwritable(wanted, "it is a folder, not a file");
  writable(wanted, dirname(path), constants.W_OK | constants.X_OK, "its folder cannot be written by this user");
  if (existsSync(path)) writable(wanted, path, constants.R_OK | constants.W_OK, "this user may not write to it");
  return { path, ownerPath: `${path}-owner` };
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw unwritable(path, "it is a symbolic link that leads nowhere", error);
  }
}

/** Also a symbolic link that leads nowhere exists. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function writable(wanted: string, path: string, mode: number, why: string): void {
  try {
    accessSync(path, mode);
  } catch (error) {
    throw unwritable(wanted, why, error);
  }
}

/** Names that statfs(2) gives to filesystems whose locks or shared memory do not reach every process. */
const network: Readonly<Record<number, string>> = {
  [0x6969]: "NFS",
  [0x517b]: "SMB",
  [0xfe534d42]: "SMB2",
  [0xff534d42]: "CIFS",
  [0x01021997]: "9p",
  [0x65735546]: "FUSE",
  [0x00c36400]: "Ceph",
  [0x5346414f]: "AFS",
  [0x6b414653]: "AFS",
  [0x0bd00bd0]: "Lustre",
  [0x47504653]: "GPFS",
  [0x786f4256]: "VirtualBox shared folder",
  [0xbacbacbc]: "VMware shared folder",
  [0x19830326]: "BeeGFS",
  [0x73757245]: "Coda",
};

/** The name of a network filesystem by the `type` of statfs on Linux; null for any other. */
export function networkName(type: number): string | null {
  return network[type >>> 0] ?? null;
}

/** Throws UNSUPPORTED_FILESYSTEM. Only Linux tells types that can be known; elsewhere it lets pass. */
export function refuseNetwork(place: Place, platform: string = process.platform): void {
  if (platform !== "linux") return;
  const name = networkName(statfsSync(dirname(place.path)).type);
  if (name !== null) throw unfitFilesystem(place.path, `${name} is shared over a network or with another machine`);
}

export interface FileId {
  readonly dev: number;
  readonly ino: number;
}

/** Null when nothing is there. */
export function fileId(path: string): FileId | null {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? null : { dev: stat.dev, ino: stat.ino };
}

const headerBytes = 100;

/**
 * Refuses what is not ours by the file's own header: SQLite, once it opens a file in WAL mode, leaves side files beside
 * it. Not to be called while this process has the file open: closing it here would drop the locks of that connection.
 * Throws STORE_DAMAGED, STORE_NEWER. What lies in a WAL is seen by `probe` only.
 */
export function inspectHeader(place: Place): void {
  const size = statSync(place.path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return;
  const header = readHeader(place.path);
  if (header.length < headerBytes || header.toString("latin1", 0, 16) !== "SQLite format 3\u0000") {
    throw damagedFile(place.path, "it is not a SQLite database");
  }
  const [version, application] = [header.readUInt32BE(60), header.readUInt32BE(68)];
  // Ours is without its mark only while it is made: one page, or all in the WAL.
  const unmarked = application === 0 && (hasWal(place) || size <= pageSizeOf(header));
  if (application !== applicationId && !unmarked) {
    throw damagedFile(place.path, "it is a SQLite database of another program");
  }
  if (application === applicationId && version > schemaVersion) throw newer(place.path, version, schemaVersion);
  if (!hasWal(place) && size < promisedBytes(header)) throw damagedFile(place.path, "its end is missing");
}

function readHeader(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(headerBytes);
    return header.subarray(0, readSync(file, header, 0, headerBytes, 0));
  } finally {
    closeSync(file);
  }
}

function pageSizeOf(header: Buffer): number {
  const pageSize = header.readUInt16BE(16);
  return pageSize === 1 ? 65_536 : pageSize;
}

/** Bytes that the header promises; 0 when it does not know (written by an old SQLite). */
function promisedBytes(header: Buffer): number {
  const known = header.readUInt32BE(24) === header.readUInt32BE(92);
  return known ? header.readUInt32BE(28) * pageSizeOf(header) : 0;
}

/** A WAL with something in it: what the main file says may be out of date. */
export function hasWal(place: Place): boolean {
  return (statSync(`${place.path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
