import { EventloomError } from '@eventloom/core';
import { ask } from './ask/ask.ts';
import { helpText } from './command-line/help-text.ts';
import { parseCommandLine } from './command-line/parse-command-line.ts';
import { UsageError } from './errors.ts';
import { readSettings } from './settings.ts';
import { start } from './start.ts';
import type { Terminal } from './terminal.ts';

/** As a shell counts a program that was used in a wrong way. */
const MISUSED = 2;

/** What the program is started with. */
export interface CommandInput {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingFolder: string;
}

/** Does what the command line says. Settles with the exit code; a failure is told in one line and never thrown. */
export async function runCommand(
  { args, environment, workingFolder }: CommandInput,
  terminal: Terminal,
): Promise<number> {
  try {
    const line = parseCommandLine(args);
    if (line.help) {
      terminal.print(helpText());
      return 0;
    }
    const settings = readSettings(line, environment, workingFolder);
    return await (line.command === 'ask' ? ask : start)(line, settings, terminal);
  } catch (error) {
    if (!EventloomError.isInstance(error)) throw error;
    terminal.warn(error.message);
    return UsageError.isInstance(error) ? MISUSED : 1;
  }
}
