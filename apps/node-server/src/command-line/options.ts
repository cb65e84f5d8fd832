import type { ParseArgsConfig } from 'node:util';

/** One option: how it is read, and what `--help` says. */
interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** Name of the value in the help text. */
  readonly value?: string;
  readonly help: string;
  /** The command that alone has it. */
  readonly only?: CommandName;
}

/** The commands of the program. */
export type CommandName = 'start' | 'ask';

export const COMMANDS: Readonly<Record<CommandName, string>> = {
  start: 'serve the agents over HTTP (the default)',
  ask: 'run one turn in the terminal and print its events',
};

const OPTIONS = {
  agents: {
    type: 'string',
    value: 'folder',
    help: 'serve the agents of this folder: each sub-folder with an agent.ts is an app',
  },
  model: {
    type: 'string',
    value: 'name',
    help: 'the Gemini model of the demo agent, when a key is set; default gemini-flash-latest',
  },
  data: { type: 'string', value: 'folder', help: 'where everything is kept; default .eventloom' },
  sessions: { type: 'string', value: 'place', help: 'sqlite:<file>, postgres://<user>@<host>/<database> or memory:' },
  artifacts: { type: 'string', value: 'place', help: 'file:<folder> or memory:' },
  memory: { type: 'string', value: 'place', help: 'what agents remember of users: sqlite:<file> or memory:' },
  credentials: {
    type: 'string',
    value: 'place',
    help: 'the keys and tokens that users give to tools, encrypted: sqlite:<file> or memory:',
  },
  port: {
    type: 'string',
    value: 'number',
    help: 'default 8000, or the variable PORT; 0 takes a free one',
    only: 'start',
  },
  host: { type: 'string', value: 'name', help: 'default 127.0.0.1', only: 'start' },
  origin: {
    type: 'string',
    multiple: true,
    value: 'url',
    help: 'a web origin that may call; can be repeated',
    only: 'start',
  },
  'allow-unauthenticated': {
    type: 'boolean',
    help: 'let everybody who reaches another host than loopback do everything',
    only: 'start',
  },
  'jwks-url': {
    type: 'string',
    value: 'url',
    help: 'ask users for a token that is signed with a key of this JSON Web Key Set; its claim "sub" names the user',
    only: 'start',
  },
  'jwt-issuer': { type: 'string', value: 'name', help: 'who must have made the token: its claim "iss"', only: 'start' },
  'jwt-audience': { type: 'string', value: 'name', help: 'for whom it must be made: its claim "aud"', only: 'start' },
  drain: {
    type: 'string',
    value: 'time',
    help: 'how long runs may go on after SIGTERM, as 20s or 5m; default 7s',
    only: 'start',
  },
  unready: {
    type: 'string',
    value: 'time',
    help: 'how long connections are accepted after SIGTERM, as 5s: /readyz answers 503, and runs are refused; default 3s, and not at all on loopback',
    only: 'start',
  },
  resumable: {
    type: 'boolean',
    help: 'store how far runs come, so that they go on when the server was ended or lost',
    only: 'start',
  },
  'unfinished-runs': {
    type: 'string',
    value: 'what',
    help: 'runs that a server left: resume (the default), close or leave them',
    only: 'start',
  },
  'request-ttl': {
    type: 'string',
    value: 'time',
    help: 'how long users can answer what a tool asks them, as 90s, 15m, 24h or 7d; default for good',
    only: 'start',
  },
  app: { type: 'string', value: 'name', help: 'which app is asked; default the first', only: 'ask' },
  user: { type: 'string', value: 'id', help: 'who asks; default "me"', only: 'ask' },
  session: {
    type: 'string',
    value: 'id',
    help: 'the session to go on with, made when it is not there; default a new one',
    only: 'ask',
  },
  json: { type: 'boolean', help: 'print each event as a line of JSON', only: 'ask' },
  help: { type: 'boolean', help: 'print this' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** The options as `parseArgs` takes them. */
export const PARSE_OPTIONS: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
  Object.entries<OptionSpec>(OPTIONS).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
);

/** All options, in the order `--help` shows them. */
export const OPTION_LIST: readonly (OptionSpec & { readonly name: string })[] = Object.entries<OptionSpec>(OPTIONS).map(
  ([name, spec]) => ({ ...spec, name }),
);
