/** What a served story is told with. */
export interface ServedStage {
  /** Empty where there is none. */
  readonly apiKey: string;
  readonly print: (line: string) => void;
}

/** One example that serves until it is ended, in a workspace of its own. */
export interface ServedStory {
  readonly isServed: true;
  /** What can stand behind the name of the example on the command line, in angle brackets what may be anything. Default nothing. */
  readonly takes?: readonly (readonly string[])[];
  /** Settles when it was ended. */
  tell(stage: ServedStage, args: readonly string[]): Promise<void>;
}
