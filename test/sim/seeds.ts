/** Seeds that broke a rule once, each with the sentence that says what was wrong. Seeds rot; the sentences stay true. */
export const seeds: readonly { readonly seed: number; readonly was: string }[] = [
  { seed: 63, was: "a batch of two commits of one agent landed, its answer was lost, and the repeat conflicted (ST2)" },
  { seed: 129, was: "the store did not answer at boot, and nothing looked again for what was due (K1)" },
  { seed: 147, was: "a tool's time ran out while the store took no writes, and it was started after its end (C7)" },
  { seed: 400, was: "reasoning whose answer was stopped was sent in the next request without a partner (P6)" },
  { seed: 46, was: "a message that came in during a hand-over started a turn that nobody handed over (I3)" },
  { seed: 534, was: "white space that a prefill may not end in was said twice (T8)" },
  { seed: 747, was: "an item of an answer that was refused in the middle was named in the next request (P6)" },
  { seed: 873, was: "a notice was taken for delivered because the store could not be read (H3)" },
  { seed: 22879, was: "half a repeat was shown because the answer broke off in it (V1)" },
  { seed: 30196, was: "a command in the durable inbox was overtaken by the same message from a door (C3)" },
  { seed: 8, was: "a turn that went on with a message used part ids of that message again (T7)" },
  { seed: 233, was: "an answer that was refused in the middle was taken for a refused prefill, and said twice (P10)" },
  { seed: 72321, was: "a backoff ended while a sweep waited for another agent, and nobody looked again (K3)" },
];
