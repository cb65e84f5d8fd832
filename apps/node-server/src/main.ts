import './quiet-warnings.ts';
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal.ts';

// A promise that an agent's code forgot must not end the runs of everybody else.
process.on('unhandledRejection', (reason) => console.error('a promise was rejected and nobody waits for it:', reason));

const { argv, env } = process;
const code = await runCommand(
  { args: argv.slice(2), environment: env, workingFolder: process.cwd() },
  processTerminal(env),
);
process.exit(code);
