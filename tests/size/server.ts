import { createServer } from '@eventloom/server';
import { runner } from './in-memory-agent.ts';

/** Measured by `pnpm size`: the runtime with the routes of the server. */
export default createServer({ runners: [runner] });
