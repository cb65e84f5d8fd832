import './quiet-warnings.ts';
import { relative } from 'node:path';
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal.ts';

const { argv, env } = process;
try {
  const [, file = '', ...args] = argv;
  // What is built has a main.js.
  const program = file.endsWith('.js') ? `node ${relative(process.cwd(), file)}` : 'npx -y pnpm@12.21.0';
  const input = { args, program, environment: env, workingFolder: process.cwd() };
  process.exit(await runCommand(input, processTerminal(env)));
} catch (error) {
  // What fails here is the program itself, and there is nothing to go on with.
  console.error(error);
  process.exit(1);
}
