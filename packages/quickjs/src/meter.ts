/**
 * The interface between `engine.wasm` and its host. The file is QuickJS with a meter (see
 * `node/metering/meter-engine.ts`): its loops, including those of built-in functions, count their turns, and call the
 * import after a fixed number of turns, with an argument that the engine itself never uses.
 */
export const METER = {
  /** The import that QuickJS calls to ask whether to continue, under its short names in the build. */
  module: 'a',
  name: 'i',
  /** Replaces the address of a runtime. */
  argument: 0,
  turns: 65_536,
  /** The name of the section that marks a build with a meter. */
  mark: 'eventloom.meter',
} as const;
