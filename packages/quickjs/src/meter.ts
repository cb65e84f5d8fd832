/**
 * The interface between `engine.wasm` and its host. The file is QuickJS with a meter (see
 * `node/metering/meter-engine.ts`): its loops, also those of built-in functions, count their turns, and call the import
 * after a fixed number of them, with an argument that no call of the engine itself has.
 */
export const METER = {
  /** The import that QuickJS calls to ask whether to continue, by its names in the build. */
  module: 'a',
  name: 'i',
  /** Stands in for the address of a runtime. */
  argument: 0,
  turns: 65_536,
  /** A section of this name marks a build that has a meter. */
  mark: 'eventloom.meter',
} as const;
