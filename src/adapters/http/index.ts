export { type HttpDoor, httpDoor } from "./door.ts";
export type { Ask, HttpDoorOptions } from "./options.ts";
