import type { ParseArgsConfig } from 'node:util';

/** One option of the command line: how its value is parsed, and its text in `--help`. */
interface OptionSpec {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** Name of the value in the help text. */
  readonly value?: string;
  readonly help: string;
  /** The only command that has this option. */
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
    help: 'serve the agents of this folder: each sub-folder with an agent.ts or a root_agent.yaml is an app',
  },
  model: {
    type: 'string',
    value: 'name',
    help: 'the Gemini model of the demo agent, when a key is set; default gemini-flash-latest',
  },
  data: { type: 'string', value: 'folder', help: 'the folder for all data; default .eventloom' },
  sessions: { type: 'string', value: 'place', help: 'sqlite:<file>, postgres://<user>@<host>/<database> or memory:' },
  artifacts: { type: 'string', value: 'place', help: 'file:<folder> or memory:' },
  memory: { type: 'string', value: 'place', help: "the agents' memory of past sessions: sqlite:<file> or memory:" },
  credentials: {
    type: 'string',
    value: 'place',
    help: "users' credentials for tools, encrypted: sqlite:<file> or memory:",
  },
  port: {
    type: 'string',
    value: 'number',
    help: 'default 8000, or the variable PORT; 0 chooses a free port',
    only: 'start',
  },
  host: { type: 'string', value: 'name', help: 'default 127.0.0.1', only: 'start' },
  origin: {
    type: 'string',
    multiple: true,
    value: 'url',
    help: 'a web origin whose pages may send requests; can be repeated',
    only: 'start',
  },
  'allow-unauthenticated': {
    type: 'boolean',
    help: 'listen on hosts other than loopback without authentication: every client that reaches the server can do everything',
    only: 'start',
  },
  'jwks-url': {
    type: 'string',
    value: 'url',
    help: 'require a token signed with a key of this JSON Web Key Set; its claim "sub" is the user id',
    only: 'start',
  },
  'jwt-issuer': { type: 'string', value: 'name', help: 'required issuer of tokens: the claim "iss"', only: 'start' },
  'jwt-audience': {
    type: 'string',
    value: 'name',
    help: 'required audience of tokens: the claim "aud"',
    only: 'start',
  },
  drain: {
    type: 'string',
    value: 'time',
    help: 'time for runs to finish after SIGTERM, such as 20s or 5m; default 7s',
    only: 'start',
  },
  unready: {
    type: 'string',
    value: 'time',
    help: 'time in which /readyz answers 503 and runs are refused after SIGTERM, before the server stops listening, such as 5s; default 3s, and 0s on loopback',
    only: 'start',
  },
  resumable: {
    type: 'boolean',
    help: 'store the progress of runs, so that they continue after the server was stopped or killed',
    only: 'start',
  },
  'unfinished-runs': {
    type: 'string',
    value: 'what',
    help: 'treatment of runs that an earlier server did not finish: resume (the default), close or leave',
    only: 'start',
  },
  ui: {
    type: 'string',
    value: 'folder',
    help: "serve this copy of the ADK's page adk-web at /dev-ui: the folder with its index.html",
    only: 'start',
  },
  'request-ttl': {
    type: 'string',
    value: 'time',
    help: 'time in which users can answer requests of tools, such as 90s, 15m, 24h or 7d; default no limit',
    only: 'start',
  },
  app: { type: 'string', value: 'name', help: 'the app to run; default the first', only: 'ask' },
  user: { type: 'string', value: 'id', help: 'the user id; default "me"', only: 'ask' },
  session: {
    type: 'string',
    value: 'id',
    help: 'the session to continue, created if it does not exist; default a new one',
    only: 'ask',
  },
  json: { type: 'boolean', help: 'print each event as a line of JSON', only: 'ask' },
  help: { type: 'boolean', help: 'print this help' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** The options in the form of `parseArgs`. */
export const PARSE_OPTIONS: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
  Object.entries<OptionSpec>(OPTIONS).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
);

/** All options, in the order in which `--help` lists them. */
export const OPTION_LIST: readonly (OptionSpec & { readonly name: string })[] = Object.entries<OptionSpec>(OPTIONS).map(
  ([name, spec]) => ({ ...spec, name }),
);
