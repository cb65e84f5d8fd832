import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { readyLine } from './ready-line.ts';

/** What a shell makes of the arguments of the curl command. */
function argumentsOf(line: string): string[] {
  const command = (line.split('try: ')[1] ?? '').replace(/^curl /, "printf '%s\\n' ");
  return execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trimEnd().split('\n');
}

test.each(['plain', "it's", 'a (copy)', 'a b', '$(id)', 'a;b', '`id`', 'a*[b]!', '日本'])(
  'the command can be pasted when the app is called %j',
  (appName) => {
    const args = argumentsOf(readyLine('http://[::1]:8000', [appName]));
    const address = args.find((arg) => arg.includes('/apps/')) ?? '';
    expect(address).toMatch(/^http:\/\/\[::1\]:8000\/apps\/[\w%.~-]+\/users\/me\/sessions\/first$/);
    expect(decodeURIComponent(address)).toContain(`/apps/${appName}/users/`);
    expect(args).toContain('http://[::1]:8000/run_sse');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ appName });
  },
);
