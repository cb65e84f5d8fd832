import { Agent, FunctionTool, loadSkillFromDir, SkillToolset } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const manifest = `---
name: weather-skill
description: Tells the weather.
metadata:
  adk_additional_tools:
    - get_weather
---

Call get_weather, then read references/units.md.
`;

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Gets the weather of a place.',
  parameters: z.object({ location: z.string() }),
  execute: async ({ location }) => ({ location, temperature: '22 C', condition: 'Sunny' }),
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'load_skill', args: { name: 'weather-skill' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'get_weather', args: { location: 'Oslo' } }] })),
    jsonReply(
      wireResponse({
        calls: [{ name: 'load_skill_resource', args: { skill_name: 'weather-skill', path: 'references/units.md' } }],
      }),
    ),
    jsonReply(wireResponse('It is sunny.')),
  ],
  async main(tell) {
    const folder = await mkdtemp(path.join(tmpdir(), 'skill-'));
    const skillDir = path.join(folder, 'weather-skill');
    await mkdir(path.join(skillDir, 'references'), { recursive: true });
    await writeFile(path.join(skillDir, 'SKILL.md'), manifest);
    await writeFile(path.join(skillDir, 'references', 'units.md'), 'Degrees are in Celsius.');
    const weatherSkill = await loadSkillFromDir(skillDir);
    tell([weatherSkill.frontmatter.name, weatherSkill.frontmatter.description, weatherSkill.instructions.trim()]);
    const rootAgent = new Agent({
      name: 'skill_user',
      model: 'gemini-flash-latest',
      description: 'Uses skills.',
      instruction: 'Use your skills.',
      tools: [new SkillToolset([weatherSkill], { additionalTools: [getWeather] })],
    });
    await converse(tell, rootAgent, ['How is the weather in Oslo?']);
    await rm(folder, { recursive: true });
  },
};
export default program;
