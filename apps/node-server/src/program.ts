import { relative } from 'node:path';
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal.ts';

const { argv, env } = process;
try {
  const [, file = '', ...args] = argv;
  // A built program has a main.js.
  const program = file.endsWith('.js') ? `node ${relative(process.cwd(), file)}` : 'npx -y pnpm@12.21.0';
  const input = { args, program, environment: env, workingFolder: process.cwd() };
  process.exit(await runCommand(input, processTerminal(env)));
} catch (error) {
  // A failure of the program itself: it cannot continue.
  console.error(error);
  process.exit(1);
}
