import { join, resolve } from 'node:path';
import { EventloomError } from '@eventloom/core';
import { parseEncryptionKey } from '@eventloom/credentials';
import type { GeminiOptions } from '@eventloom/gemini';
import type { OnUnfinishedRuns } from '@eventloom/server';
import type { JwtAuthenticateOptions } from '@eventloom/server/jwt';
import type { CommandLine } from './command-line/parse-command-line.ts';
import { UsageError } from './errors.ts';

/** The storage of sessions. */
export type SessionsPlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** The URL of a database, which may contain a password. */
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'memory' };
/** The storage of artifacts. */
export type ArtifactsPlace = { readonly kind: 'file'; readonly folder: string } | { readonly kind: 'memory' };

/** The storage of memories. */
export type MemoryPlace = { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'memory' };

/** The storage of users' credentials. */
export type CredentialsPlace =
  | {
      readonly kind: 'sqlite';
      readonly file: string;
      /** The encryption keys, the newest first; absent if the key is in a file beside the credentials. */
      readonly keys: readonly Uint8Array[] | undefined;
    }
  | { readonly kind: 'memory' };

/** The connection to Gemini. */
export type GeminiClientSettings = Omit<GeminiOptions, 'model'>;

/** The checked settings from the command line and the environment. */
export interface Settings {
  readonly port: number;
  readonly host: string;
  /** The tokens that users must present; absent without authentication. */
  readonly tokens: JwtAuthenticateOptions | undefined;
  /** Time that active runs have to finish after a SIGTERM, in milliseconds. */
  readonly drainMs: number;
  /** Time in which `/readyz` answers 503 after a SIGTERM, before the server stops listening, in milliseconds. */
  readonly unreadyMs: number | undefined;
  /** Web origins that may send requests. */
  readonly origins: readonly string[];
  readonly sessions: SessionsPlace;
  readonly artifacts: ArtifactsPlace;
  readonly memory: MemoryPlace;
  readonly credentials: CredentialsPlace;
  /** The folder of all places above without their own address. */
  readonly dataFolder: string;
  /** The folder of the agents; undefined for the demo agent. */
  readonly agentsFolder: string | undefined;
  /** True if runs store their progress, so that they can be resumed. */
  readonly resumable: boolean;
  /** The treatment of runs that an earlier server left unfinished. */
  readonly unfinishedRuns: OnUnfinishedRuns;
  /** Time in which a tool's question to a person can be answered, in milliseconds; no limit if absent. */
  readonly requestTtlMs: number | undefined;
  /** The folder with a copy of adk-web; undefined to serve none. */
  readonly uiFolder: string | undefined;
  /** The connection to Gemini; undefined without a key. */
  readonly gemini: GeminiClientSettings | undefined;
  /** The Gemini model of the demo agent. */
  readonly demoModel: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment variable with the keys that encrypt credentials. */
const KEY_VARIABLE = 'EVENTLOOM_CREDENTIALS_KEY';

/** Environment variable with the secret that signs the tokens of users. */
const SECRET_VARIABLE = 'EVENTLOOM_JWT_SECRET';

/** Default drain time. With the rest of the shutdown it is shorter than the ten seconds of `docker stop`. */
const DRAIN_MS = 7_000;

/** Environment variables of the Gemini key; the last one is that of the ADK for JavaScript. */
const KEY_NAMES = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY'];

/** An alias of Google for its newest model of this kind. */
const DEMO_MODEL = 'gemini-flash-latest';

/** @throws UsageError for an invalid value */
export function readSettings(line: CommandLine, environment: Environment, workingFolder: string): Settings {
  const gemini = readGemini(environment);
  const dataFolder = resolve(workingFolder, line.data ?? '.eventloom');
  return {
    port: readPort(line.port ?? set(environment['PORT']) ?? '8000'),
    host: line.host ?? '127.0.0.1',
    tokens: readTokens(line, environment),
    drainMs: readDuration('drain', line.drain) ?? DRAIN_MS,
    unreadyMs: readDuration('unready', line.unready),
    origins: line.origins.map(readOrigin),
    sessions: readSessions(line.sessions, dataFolder, workingFolder),
    artifacts: readArtifacts(line.artifacts, dataFolder, workingFolder),
    memory: readMemory(line, dataFolder, workingFolder),
    credentials: readCredentials(line, environment, dataFolder, workingFolder),
    dataFolder,
    agentsFolder: line.agents === undefined ? undefined : resolve(workingFolder, line.agents),
    resumable: line.resumable,
    unfinishedRuns: readUnfinishedRuns(line.unfinishedRuns),
    requestTtlMs: readDuration('request-ttl', line.requestTtl),
    uiFolder: line.ui === undefined ? undefined : resolve(workingFolder, line.ui),
    gemini,
    demoModel: readDemoModel(line, gemini),
  };
}

/** Returns the value of a variable; undefined for an empty one. */
function set(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`port ${JSON.stringify(text)}: expected an integer from 0 to 65535`);
}

function readOrigin(text: string): string {
  if (text === '*' || (URL.canParse(text) && new URL(text).origin === text)) return text;
  throw new UsageError(`--origin ${text}: is not an origin; write it like https://app.example, without a path`);
}

function readTokens(line: CommandLine, environment: Environment): JwtAuthenticateOptions | undefined {
  const { jwksUrl, jwtIssuer: issuer, jwtAudience: audience, allowUnauthenticated } = line;
  const secret = set(environment[SECRET_VARIABLE]);
  if (jwksUrl === undefined && secret === undefined) {
    if (issuer === undefined && audience === undefined) return undefined;
    throw new UsageError(
      `--jwt-issuer, --jwt-audience: the key of the tokens is missing; add --jwks-url or set the variable ${SECRET_VARIABLE}`,
    );
  }
  const source = jwksUrl === undefined ? `the variable ${SECRET_VARIABLE}` : `--jwks-url ${jwksUrl}`;
  if (jwksUrl !== undefined && secret !== undefined)
    throw new UsageError(`${source}: the variable ${SECRET_VARIABLE} is also set; remove one of them`);
  if (issuer === undefined || audience === undefined)
    throw new UsageError(`${source}: needs --jwt-issuer and --jwt-audience to check tokens with`);
  if (allowUnauthenticated)
    throw new UsageError(`${source}: cannot be combined with --allow-unauthenticated; remove one of them`);
  return { jwksUrl, secret, issuer, audience };
}

function readUnfinishedRuns(text = 'resume'): OnUnfinishedRuns {
  if (text === 'resume' || text === 'close' || text === 'leave') return text;
  throw new UsageError(`--unfinished-runs ${text}: expected resume, close or leave`);
}

function readSessions(text: string | undefined, dataFolder: string, workingFolder: string): SessionsPlace {
  if (text === undefined) return { kind: 'sqlite', file: join(dataFolder, 'sessions.sqlite') };
  if (text === 'memory:') return { kind: 'memory' };
  const file = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (file === ':memory:') throw new UsageError(`--sessions ${text}: write memory: to keep sessions in memory`);
  if (file !== undefined) return { kind: 'sqlite', file: resolve(workingFolder, file) };
  if (/^postgres(ql)?:\/\//.test(text)) return { kind: 'postgres', url: readDatabaseUrl(text) };
  throw new UsageError(
    `--sessions ${withoutUser(text)}: expected sqlite:<file>, postgres://<user>@<host>/<database> or memory:`,
  );
}

function readDatabaseUrl(text: string): string {
  if (URL.canParse(text)) return text;
  throw new UsageError('--sessions postgres://…: is not a URL; write special characters of a password as %xx');
}

/** Hides the text between `//` and the last `@`, because a mistyped URL may still contain a password. */
function withoutUser(text: string): string {
  const slashes = text.indexOf('//');
  const at = text.lastIndexOf('@');
  return slashes >= 0 && at >= slashes + 2 ? `${text.slice(0, slashes)}//…${text.slice(at)}` : text;
}

function readArtifacts(text: string | undefined, dataFolder: string, workingFolder: string): ArtifactsPlace {
  if (text === undefined) return { kind: 'file', folder: join(dataFolder, 'artifacts') };
  if (text === 'memory:') return { kind: 'memory' };
  const folder = /^file:(.+)$/s.exec(text)?.[1];
  if (folder !== undefined) return { kind: 'file', folder: resolve(workingFolder, folder) };
  throw new UsageError(`--artifacts ${text}: expected file:<folder> or memory:`);
}

/** Memories are stored where the sessions are stored, unless the options say otherwise. */
function readMemory({ memory: text, sessions }: CommandLine, dataFolder: string, workingFolder: string): MemoryPlace {
  if (text === 'memory:' || (text === undefined && sessions === 'memory:')) return { kind: 'memory' };
  if (text === undefined) return { kind: 'sqlite', file: join(dataFolder, 'memory.sqlite') };
  const file = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (file === ':memory:') throw new UsageError(`--memory ${text}: write memory: to keep memories in memory`);
  if (file !== undefined) return { kind: 'sqlite', file: resolve(workingFolder, file) };
  throw new UsageError(`--memory ${text}: expected sqlite:<file> or memory:`);
}

/** Credentials are stored where the sessions are stored, unless the options say otherwise. */
function readCredentials(
  { credentials: text, sessions }: CommandLine,
  environment: Environment,
  dataFolder: string,
  workingFolder: string,
): CredentialsPlace {
  if (text === 'memory:' || (text === undefined && sessions === 'memory:')) return { kind: 'memory' };
  const keys = readEncryptionKeys(set(environment[KEY_VARIABLE]));
  if (text === undefined) return { kind: 'sqlite', file: join(dataFolder, 'credentials.sqlite'), keys };
  const file = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (file === ':memory:') throw new UsageError(`--credentials ${text}: write memory: to keep credentials in memory`);
  if (file !== undefined) return { kind: 'sqlite', file: resolve(workingFolder, file), keys };
  throw new UsageError(`--credentials ${text}: expected sqlite:<file> or memory:`);
}

/** Reads the encryption keys from the value of a variable. Errors do not quote the value. */
function readEncryptionKeys(text: string | undefined): readonly Uint8Array[] | undefined {
  try {
    return text?.split(',').map(parseEncryptionKey);
  } catch (error) {
    if (!EventloomError.isInstance(error)) throw error;
    throw new UsageError(`the variable ${KEY_VARIABLE}: ${error.message}`);
  }
}

/** Returns the model of the demo. If a model is named, the demo never uses another one instead. */
function readDemoModel({ model, agents }: CommandLine, gemini: GeminiClientSettings | undefined): string {
  if (model === undefined) return DEMO_MODEL;
  if (agents !== undefined)
    throw new UsageError(`--model ${model}: applies only to the demo agent; agents of --agents name their own models`);
  if (gemini) return model;
  throw new UsageError(`--model ${model}: no key is set; set GEMINI_API_KEY and start again`);
}

const MS_OF: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function readDuration(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const unitMs = MS_OF[unit];
  if (unitMs !== undefined) return Number(count) * unitMs;
  throw new UsageError(
    `--${option} ${text}: expected a number of seconds, minutes, hours or days, such as 90s, 15m, 24h or 7d`,
  );
}

function readGemini(environment: Environment): GeminiClientSettings | undefined {
  const apiKeyName = KEY_NAMES.find((name) => set(environment[name]) !== undefined);
  const baseUrl = set(environment['GOOGLE_GEMINI_BASE_URL']);
  return apiKeyName === undefined ? undefined : { apiKey: environment[apiKeyName], apiKeyName, baseUrl };
}
