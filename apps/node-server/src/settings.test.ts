import { describe, expect, test } from 'vitest';
import { parseCommandLine } from './command-line/parse-command-line.ts';
import { readSettings, type Settings } from './settings.ts';

function settingsOf(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Settings {
  return readSettings(parseCommandLine(args), environment, '/srv/app');
}

describe('settings', () => {
  test('keep everything in one folder below the working folder', () => {
    expect(settingsOf([])).toEqual({
      port: 8000,
      host: '127.0.0.1',
      dataFolder: '/srv/app/.eventloom',
      sessions: { kind: 'sqlite', file: '/srv/app/.eventloom/sessions.sqlite' },
      artifacts: { kind: 'file', folder: '/srv/app/.eventloom/artifacts' },
      agentsFolder: undefined,
      gemini: undefined,
      demoModel: 'gemini-flash-latest',
    });
  });

  test('take places of their own', () => {
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

  test('take the port from the command line before the environment', () => {
    expect([settingsOf([], { PORT: '1' }).port, settingsOf(['--port', '2'], { PORT: '1' }).port]).toEqual([1, 2]);
  });

  test('take either name of the key, and nothing for an empty one', () => {
    expect(settingsOf([], { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: '' }).gemini).toEqual({
      apiKey: 'b',
      baseUrl: undefined,
    });
    const both = { GOOGLE_API_KEY: 'b', GEMINI_API_KEY: 'a', GOOGLE_GEMINI_BASE_URL: 'http://localhost:1' };
    expect(settingsOf([], both).gemini).toEqual({ apiKey: 'a', baseUrl: 'http://localhost:1' });
  });

  test.each([
    [['--port', 'x'], 'port "x": must be an integer from 0 to 65535'],
    [['--port', '65536'], 'port "65536"'],
    [['--sessions', 'postgres://x'], '--sessions postgres://x: must be sqlite:<file> or memory:'],
    [['--sessions', 'sqlite::memory:'], '--sessions sqlite::memory:: write memory: to keep sessions in memory'],
    [['--sessions', 'sqlite:'], '--sessions sqlite:: must be'],
    [['--artifacts', 's3://x'], '--artifacts s3://x: must be file:<folder> or memory:'],
  ])('refuse %j', (args, message) => {
    expect(() => settingsOf(args)).toThrow(message);
  });
});
