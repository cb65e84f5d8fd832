import { describe, expect, test } from 'vitest';
import { parseCommandLine } from './command-line/parse-command-line.ts';
import { UsageError } from './errors.ts';
import { readSettings, type Settings } from './settings.ts';

function settingsOf(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Settings {
  return readSettings(parseCommandLine(args), environment, '/srv/app');
}

describe('settings', () => {
  test('put all data into one folder below the working folder', () => {
    expect(settingsOf([])).toEqual({
      port: 8000,
      host: '127.0.0.1',
      tokens: undefined,
      drainMs: 7_000,
      unreadyMs: undefined,
      origins: [],
      dataFolder: '/srv/app/.eventloom',
      sessions: { kind: 'sqlite', file: '/srv/app/.eventloom/sessions.sqlite' },
      artifacts: { kind: 'file', folder: '/srv/app/.eventloom/artifacts' },
      memory: { kind: 'sqlite', file: '/srv/app/.eventloom/memory.sqlite' },
      credentials: { kind: 'sqlite', file: '/srv/app/.eventloom/credentials.sqlite', keys: undefined },
      agentsFolder: undefined,
      resumable: false,
      unfinishedRuns: 'resume',
      requestTtlMs: undefined,
      gemini: undefined,
      demoModel: 'gemini-flash-latest',
    });
  });

  test('may name a place for each kind of data', () => {
    const { sessions, artifacts } = settingsOf([
      '--sessions',
      'sqlite:a b.db',
      '--artifacts',
      'memory:',
      '--data',
      'd',
    ]);
    expect([sessions, artifacts]).toEqual([{ kind: 'sqlite', file: '/srv/app/a b.db' }, { kind: 'memory' }]);
  });

  test.each(['postgres', 'postgresql'])('take a database by its URL: %s', (scheme) => {
    const url = `${scheme}://ada:secret@db.example:5433/agents?sslmode=require`;
    expect(settingsOf(['--sessions', url]).sessions).toEqual({ kind: 'postgres', url });
  });

  test.each(['postgres://ada:se#cret@db/agents', 'postgress://ada:se#cret@db/agents', 'postgres:// ada:se#cret@db'])(
    'name no password when they refuse %s',
    (url) => {
      const read = () => settingsOf(['--sessions', url]);
      expect(read).toThrow(UsageError);
      expect(read).not.toThrow(/se#cret/);
    },
  );

  test('keep memories as long as sessions, unless they have their own place', () => {
    expect(settingsOf(['--sessions', 'memory:']).memory).toEqual({ kind: 'memory' });
    expect(settingsOf(['--memory', 'memory:']).memory).toEqual({ kind: 'memory' });
    const { memory } = settingsOf(['--sessions', 'memory:', '--memory', 'sqlite:m.db']);
    expect(memory).toEqual({ kind: 'sqlite', file: '/srv/app/m.db' });
  });

  test('keep credentials as long as sessions, unless they have their own place', () => {
    expect(settingsOf(['--sessions', 'memory:']).credentials).toEqual({ kind: 'memory' });
    expect(settingsOf(['--credentials', 'memory:']).credentials).toEqual({ kind: 'memory' });
    const { credentials } = settingsOf(['--sessions', 'memory:', '--credentials', 'sqlite:c.db']);
    expect(credentials).toEqual({ kind: 'sqlite', file: '/srv/app/c.db', keys: undefined });
  });

  test('read the credential key and former ones, and never quote an invalid one', () => {
    const [key, former] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const text = [key, former].map((bytes) => Buffer.from(bytes).toString('base64')).join(', ');
    expect(settingsOf([], { EVENTLOOM_CREDENTIALS_KEY: text }).credentials).toMatchObject({ keys: [key, former] });
    expect(settingsOf([], { EVENTLOOM_CREDENTIALS_KEY: '' }).credentials).toMatchObject({ keys: undefined });
    const read = () => settingsOf([], { EVENTLOOM_CREDENTIALS_KEY: `${text},hunter2` });
    expect(read).toThrow(UsageError);
    expect(read).toThrow('the variable EVENTLOOM_CREDENTIALS_KEY');
    expect(read).not.toThrow(/hunter2|AQEB/);
  });

  test.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
  ])('set the time in which a question can be answered: %s', (text, requestTtlMs) => {
    expect(settingsOf(['--request-ttl', text])).toMatchObject({ requestTtlMs });
  });

  test('contain resumable and onUnfinishedRuns', () => {
    const { resumable, unfinishedRuns } = settingsOf(['--resumable', '--unfinished-runs', 'close']);
    expect([resumable, unfinishedRuns]).toEqual([true, 'close']);
  });

  test('prefer the port of the command line over the environment', () => {
    expect([settingsOf([], { PORT: '1' }).port, settingsOf(['--port', '2'], { PORT: '1' }).port]).toEqual([1, 2]);
  });

  test('contain the model of the demo agent', () => {
    expect(settingsOf(['--model', 'gemini-pro'], { GEMINI_API_KEY: 'a' })).toMatchObject({ demoModel: 'gemini-pro' });
    expect(() => settingsOf(['--model', 'gemini-pro', '--agents', 'a'], { GEMINI_API_KEY: 'a' })).toThrow(
      '--model gemini-pro: applies only to the demo agent',
    );
  });

  test.each(['foo', 'https://app.example/', 'app.example'])(
    'refuse the origin %s under the name of the option',
    (origin) => {
      expect(() => settingsOf(['--origin', origin])).toThrow(UsageError);
      expect(() => settingsOf(['--origin', origin])).toThrow(`--origin ${origin}: is not an origin`);
      expect(settingsOf(['--origin', 'https://app.example', '--origin', '*']).origins).toHaveLength(2);
    },
  );

  test('accept each variable of the API key, and ignore an empty one', () => {
    expect(settingsOf([], { GOOGLE_GENAI_API_KEY: 'c' }).gemini?.apiKey).toBe('c');
    expect(settingsOf([], { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: '' }).gemini).toEqual({
      apiKey: 'b',
      apiKeyName: 'GOOGLE_API_KEY',
      baseUrl: undefined,
    });
    const both = { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: 'a', GOOGLE_GEMINI_BASE_URL: 'http://localhost:1' };
    expect(settingsOf([], both).gemini).toEqual({
      apiKey: 'a',
      apiKeyName: 'GEMINI_API_KEY',
      baseUrl: 'http://localhost:1',
    });
  });

  test.each([
    [['--port', 'x'], 'port "x": expected an integer from 0 to 65535'],
    [['--port', '65536'], 'port "65536"'],
    [
      ['--sessions', 'mysql://x'],
      '--sessions mysql://x: expected sqlite:<file>, postgres://<user>@<host>/<database> or memory:',
    ],
    [['--sessions', 'sqlite::memory:'], '--sessions sqlite::memory:: write memory: to keep sessions in memory'],
    [['--sessions', 'sqlite:'], '--sessions sqlite:: expected sqlite:<file>'],
    [['--memory', 'x'], '--memory x: expected sqlite:<file> or memory:'],
    [['--memory', 'sqlite::memory:'], '--memory sqlite::memory:: write memory: to keep memories in memory'],
    [['--unfinished-runs', 'drop'], '--unfinished-runs drop: expected resume, close or leave'],
    [['--credentials', 'x'], '--credentials x: expected sqlite:<file> or memory:'],
    [
      ['--credentials', 'sqlite::memory:'],
      '--credentials sqlite::memory:: write memory: to keep credentials in memory',
    ],
    [['--request-ttl', '15'], '--request-ttl 15: expected a number of seconds, minutes, hours or days'],
    [['--request-ttl', '0s'], '--request-ttl 0s'],
    [['--request-ttl', '9999999d'], '--request-ttl 9999999d'],
    [['--model', 'gemini-pro'], '--model gemini-pro: no key is set'],
    [['--artifacts', 's3://x'], '--artifacts s3://x: expected file:<folder> or memory:'],
  ])('refuse %j', (args, message) => {
    expect(() => settingsOf(args)).toThrow(message);
  });
});

describe('authentication', () => {
  const names = ['--jwt-issuer', 'login', '--jwt-audience', 'agents'];
  const secret = { EVENTLOOM_JWT_SECRET: 'hidden' };

  test('uses a secret or a key set, and is off without either', () => {
    expect(settingsOf([]).tokens).toBeUndefined();
    expect(settingsOf(names, secret).tokens).toMatchObject({ secret: 'hidden', issuer: 'login', audience: 'agents' });
    const jwksUrl = 'https://login.example/keys';
    expect(settingsOf([...names, '--jwks-url', jwksUrl]).tokens).toMatchObject({ jwksUrl, secret: undefined });
  });

  test.each([
    [names, {}, 'the key of the tokens is missing'],
    [[], secret, 'needs --jwt-issuer and --jwt-audience'],
    [['--jwks-url', 'https://a.example', '--jwt-issuer', 'login'], {}, 'needs --jwt-issuer and --jwt-audience'],
    [[...names, '--jwks-url', 'https://a.example'], secret, 'is also set; remove one of them'],
    [[...names, '--allow-unauthenticated'], secret, 'cannot be combined with --allow-unauthenticated'],
  ])('%j with %j are refused: %s', (args, environment, message) => {
    const read = () => settingsOf(args, environment);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
    expect(read).not.toThrow('hidden');
  });
});

test('the options --drain and --unready are durations', () => {
  expect(settingsOf(['--drain', '2m']).drainMs).toBe(120_000);
  expect(settingsOf(['--unready', '5s']).unreadyMs).toBe(5_000);
  expect(() => settingsOf(['--drain', '2 minutes'])).toThrow('--drain 2 minutes: expected a number of seconds');
});
