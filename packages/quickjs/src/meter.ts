/**
 * What `engine.wasm` and its host agree on. The file is QuickJS with a meter in it (see `node/metering/meter-engine.ts`): its loops, those of
 * built-in functions too, count their turns, and after so many the import is called, with an argument that no engine's own call has.
 */
export const METER = {
  /** The import through which QuickJS asks whether to go on; these are the names it has in the build. */
  module: 'a',
  name: 'i',
  /** In place of the address of a runtime. */
  argument: 0,
  turns: 65_536,
  /** A section of this name marks a build that has a meter. */
  mark: 'eventloom.meter',
} as const;
