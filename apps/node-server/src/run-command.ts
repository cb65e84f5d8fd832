import { EventloomError } from '@eventloom/core';
import { ask } from './ask/ask.ts';
import { type CommandName, COMMANDS, OPTION_LIST } from './command-line/options.ts';
import { parseCommandLine } from './command-line/parse-command-line.ts';
import { UsageError } from './errors.ts';
import { readSettings } from './settings.ts';
import { start } from './start.ts';
import type { Terminal } from './terminal.ts';

/** Exit code of wrong usage, as shells define it. */
const MISUSED = 2;

/** The arguments, environment and terminal of the program. */
interface CommandInput {
  readonly args: readonly string[];
  /** The shell command that starts the program, shown by `--help`. */
  readonly program: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly workingFolder: string;
}

/** Runs the command. Resolves with the exit code. Prints a failure in one line instead of throwing it. */
export async function runCommand(
  { args, program, environment, workingFolder }: CommandInput,
  terminal: Terminal,
): Promise<number> {
  try {
    const line = parseCommandLine(args);
    if (line.help) {
      terminal.print(helpText(program));
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

/** Returns the text of `--help`. */
function helpText(program: string): string {
  return [
    'Eventloom serves agents over HTTP, or asks one of them in the terminal.',
    '',
    `${program} start [options]`,
    `${program} ask "a question" [options]`,
    '',
    ...Object.entries(COMMANDS).map(([name, what]) => `  ${name.padEnd(10)}${what}`),
    '',
    'Options of both',
    ...optionLines(undefined),
    '',
    'Options of start',
    ...optionLines('start'),
    '',
    'Options of ask',
    ...optionLines('ask'),
    '',
    'GEMINI_API_KEY, GOOGLE_API_KEY or GOOGLE_GENAI_API_KEY is the key for Gemini; GOOGLE_GEMINI_BASE_URL is another address.',
    'Without a key the demo agent uses a small offline model. A file .env is not read, nor is GOOGLE_GENAI_USE_VERTEXAI: for',
    'Vertex AI give the agent a model object, `new Gemini({ model, vertexai: true, project, location })`.',
    '',
    'With EVENTLOOM_JWT_SECRET or --jwks-url, requests need a token (a JWT), and users reach only their own data.',
    '',
    'Credentials are encrypted with the key in EVENTLOOM_CREDENTIALS_KEY, as `openssl rand -base64 32` prints it. Without it, a key is',
    'created in <file>.key. To change the key, put the new one first and the old ones after it, separated by commas.',
    '',
    'The password of a database is read from its URL or from PGPASSWORD, which other users of the machine cannot see.',
    '',
    'Agents run without a compiler: TypeScript must be erasable syntax (no enums, namespaces or parameter',
    'properties), and relative imports end in .ts. An agent that cannot be loaded is reported, and the others are',
    'served. An error that nothing catches, such as one thrown in a timer, shuts the server down after a drain, with exit code 1.',
  ].join('\n');
}

function optionLines(command: CommandName | undefined): string[] {
  return OPTION_LIST.filter(({ only }) => only === command).map(({ name, value, help }) => {
    const usage = value === undefined ? `--${name}` : `--${name} <${value}>`;
    return `  ${usage.padEnd(26)}${help}`;
  });
}
