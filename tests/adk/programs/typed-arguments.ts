import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const person = z.object({ name: z.string(), age: z.number().int(), email: z.string().nullish().default(null) });
const company = z.object({ company: z.string(), staff: z.number().int() });
const settings = z.object({ theme: z.string().default('light'), loud: z.boolean().default(true) });

const register = new FunctionTool({
  name: 'register',
  description: 'Registers a person.',
  parameters: z.object({
    profile: person.describe('Who it is.'),
    settings: settings.nullish().default(null).describe('How it looks.'),
    level: z.enum(['low', 'high']).default('low'),
    tags: z.record(z.string(), z.unknown()).optional(),
  }),
  execute: ({ profile, settings: given, level, tags }) => ({
    name: profile.name,
    email: profile.email ?? 'none',
    ...settings.parse(given ?? {}),
    level,
    tags: Object.keys(tags ?? {}),
  }),
});
const enter = new FunctionTool({
  name: 'enter',
  description: 'Enters a person or a company.',
  parameters: z.object({ entity: z.union([person, company]).describe('Who it is.') }),
  execute: ({ entity }) => ('company' in entity ? { kind: 'company', ...entity } : { kind: 'person', ...entity }),
});
const agent = new LlmAgent({
  name: 'register',
  model: 'gemini-flash-latest',
  instruction: 'Register.',
  tools: [register, enter],
});

const calls = [
  { name: 'register', args: { profile: { name: 'Ann', age: 25 }, settings: { theme: 'dark' }, tags: { vip: true } } },
  { name: 'register', args: { profile: { name: 'Bob', age: 30, email: 'bob@example.com' }, level: 'high' } },
  { name: 'enter', args: { entity: { company: 'Acme', staff: 3 } } },
  { name: 'enter', args: { entity: { name: 'Eve', age: 32 } } },
];
const program: Program = {
  replies: [...calls.map((call) => jsonReply(wireResponse({ calls: [call] }))), jsonReply(wireResponse('Done.'))],
  main: (tell) => converse(tell, agent, ['Register all of them.']),
};
export default program;
