import { parseArgs } from 'node:util';
import { toError, nearestNames } from '@eventloom/core';
import { UsageError } from '../errors.ts';
import { type CommandName, COMMANDS, OPTION_LIST, PARSE_OPTIONS } from './options.ts';

/** The parsed command line. */
export interface CommandLine {
  readonly command: CommandName;
  /** The question of `ask`. */
  readonly question: string;
  readonly agents?: string | undefined;
  readonly model?: string | undefined;
  readonly data?: string | undefined;
  readonly sessions?: string | undefined;
  readonly artifacts?: string | undefined;
  readonly memory?: string | undefined;
  readonly credentials?: string | undefined;
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly origins: readonly string[];
  readonly allowUnauthenticated: boolean;
  readonly jwksUrl?: string | undefined;
  readonly jwtIssuer?: string | undefined;
  readonly jwtAudience?: string | undefined;
  readonly drain?: string | undefined;
  readonly unready?: string | undefined;
  readonly resumable: boolean;
  readonly unfinishedRuns?: string | undefined;
  readonly requestTtl?: string | undefined;
  readonly ui?: string | undefined;
  readonly app?: string | undefined;
  readonly user?: string | undefined;
  readonly session?: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

/** Marks an argument that is text although it looks like an option. */
const TEXT_MARK = '\0';

/**
 * Parses the arguments of the program.
 * @throws UsageError for an unknown command, option or value, with a similar name, and for a repeated option that has one value
 */
export function parseCommandLine(args: readonly string[]): CommandLine {
  // pnpm passes on a separating `--`, which no command needs.
  const given = args
    .filter((arg, index) => arg !== '--' || index > 1)
    .map((arg) => (isText(arg) ? `${TEXT_MARK}${arg}` : arg));
  checkNames(given);
  const { values, positionals } = parse(given);
  const { command, rest } = splitCommand(positionals);
  for (const { name, only } of OPTION_LIST) {
    if (values[name] !== undefined && only !== undefined && only !== command) {
      throw new UsageError(`--${name} is an option of ${only}, not of ${command}`);
    }
  }
  const text = (name: string): string | undefined => readText(name, values[name]);
  return {
    command,
    question: rest.map(withoutMark).join(' '),
    agents: text('agents'),
    model: text('model'),
    data: text('data'),
    sessions: text('sessions'),
    artifacts: text('artifacts'),
    memory: text('memory'),
    credentials: text('credentials'),
    port: text('port'),
    host: text('host'),
    origins: Array.isArray(values['origin']) ? values['origin'].map(String) : [],
    allowUnauthenticated: values['allow-unauthenticated'] === true,
    jwksUrl: text('jwks-url'),
    jwtIssuer: text('jwt-issuer'),
    jwtAudience: text('jwt-audience'),
    drain: text('drain'),
    unready: text('unready'),
    resumable: values['resumable'] === true,
    unfinishedRuns: text('unfinished-runs'),
    requestTtl: text('request-ttl'),
    ui: text('ui'),
    app: text('app'),
    user: text('user'),
    session: text('session'),
    json: values['json'] === true,
    help: values['help'] === true,
  };
}

/** True for text: no option is a number, and no option's name contains a blank. */
function isText(arg: string): boolean {
  return /^-(\d|[^=\s]*\s)/.test(arg);
}

function withoutMark(arg: string): string {
  return arg.startsWith(TEXT_MARK) ? arg.slice(TEXT_MARK.length) : arg;
}

function checkNames(args: readonly string[]): void {
  const names = OPTION_LIST.map(({ name }) => name);
  const { tokens } = parseArgs({ args: [...args], options: PARSE_OPTIONS, strict: false, tokens: true });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!names.includes(token.name)) {
      const [meant] = nearestNames(token.name, names);
      const hint = meant === undefined ? '--help lists all options' : `did you mean --${meant}?`;
      throw new UsageError(`there is no option ${token.rawName}; ${hint}`);
    }
    if (seen.has(token.name) && PARSE_OPTIONS[token.name]?.type === 'string' && !PARSE_OPTIONS[token.name]?.multiple)
      throw new UsageError(`--${token.name}: is given more than once`);
    seen.add(token.name);
  }
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs> {
  try {
    return parseArgs({ args: [...args], options: PARSE_OPTIONS, allowPositionals: true });
  } catch (cause) {
    throw new UsageError(toError(cause).message, { cause });
  }
}

function splitCommand(positionals: readonly string[]): { command: CommandName; rest: readonly string[] } {
  const [first, ...rest] = positionals;
  if (first === undefined) return { command: 'start', rest };
  if (first === 'ask') return { command: 'ask', rest };
  const names = Object.keys(COMMANDS);
  if (first !== 'start') {
    const [meant] = nearestNames(first, names);
    const hint = meant === undefined ? `there are ${names.join(' and ')}` : `did you mean ${meant}?`;
    throw new UsageError(`there is no command ${JSON.stringify(withoutMark(first))}; ${hint}`);
  }
  if (rest.length > 0)
    throw new UsageError(`start: expected only options, got ${JSON.stringify(rest.map(withoutMark).join(' '))}`);
  return { command: 'start', rest };
}

function readText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && value !== '') return withoutMark(value);
  throw new UsageError(`--${name}: is empty`);
}
