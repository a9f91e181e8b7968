/** What a deposed owner is worth, and a message that no turn answers. */
import { expect, it } from "vitest";
import { MemoryStore } from "../../src/adapters/memory/store.ts";
import { cast, hangingAfter, said, words } from "./actor.ts";
import { key, owner, user, World } from "./kit.ts";

it("[O4][G4] an owner that lost its store finds out by its next commit, is not ready, and says so once", async () => {
  let lost = 0;
  const answer = () => hangingAfter(words("half an answer"));
  const world = await World.open({ behaviour: cast({ answer }), options: { onLost: () => lost++ } });
  await world.submit("m1");
  await new MemoryStore(world.disk).open(owner);
  await expect(world.submit("m2")).rejects.toThrow();
  await world.time.until(() => lost > 0);
  expect(world.runtime.ready).toBe(false);
  expect([lost, world.told("host:owner-lost").length]).toEqual([1, 1]);
});

it("[C3] a message that was added without a turn is not taken for one that a turn answers", async () => {
  const world = await World.open({ behaviour: cast({ answer: () => said("hello") }) });
  await world.time.of(world.gateway.append(key, [user("m1")], "append"), "the append");
  await expect(world.submit("m1")).rejects.toMatchObject({ code: "CONTENT_CONFLICT" });
  expect((await world.turn("m2")).outcome).toBe("completed");
});
