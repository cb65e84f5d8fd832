/** The output of the program, and whether it is a terminal. */
export interface Terminal {
  /** True if the output is a terminal that shows colours. */
  readonly hasColours: boolean;
  /** Writes a text unchanged to the standard output. */
  readonly write: (text: string) => void;
  /** Writes a line to the standard output. */
  readonly print: (line: string) => void;
  /** Writes a line to the standard error output. */
  readonly warn: (line: string) => void;
}

/** The terminal of this process. */
export function processTerminal(environment: Readonly<Record<string, string | undefined>>): Terminal {
  const write = (text: string): void => void process.stdout.write(text);
  return {
    hasColours: process.stdout.isTTY === true && !environment['NO_COLOR'],
    write,
    print: (line) => write(`${line}\n`),
    warn: (line) => void process.stderr.write(`eventloom: ${line}\n`),
  };
}
