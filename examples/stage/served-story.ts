/** The key and the output of a served story. */
export interface ServedStage {
  /** The API key; empty without one. */
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

/** An example that serves until it is stopped, in its own workspace. */
export interface ServedStory {
  readonly isServed: true;
  /**
   * Arguments that the command line accepts after the name of the example; a word in angle brackets stands for any value. Default: none.
   */
  readonly takes?: readonly (readonly string[])[];
  /** Resolves when the example has ended. */
  tell(stage: ServedStage, args: readonly string[]): Promise<void>;
}
