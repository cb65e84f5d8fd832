import { Agent, type Skill, SkillToolset } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const letters: Skill = {
  frontmatter: { name: 'letters', description: 'Writes formal letters.' },
  instructions: "Read 'references/form.txt', then write the letter.",
  resources: { references: { 'form.txt': 'Dear Sir or Madam' } },
};
const rootAgent = new Agent({
  name: 'writer',
  model: 'gemini-flash-latest',
  instruction: 'Write letters with your skills.',
  tools: [new SkillToolset([letters])],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'load_skill', args: { name: 'letters' } }] })),
    jsonReply(
      wireResponse({
        calls: [{ name: 'load_skill_resource', args: { skill_name: 'letters', path: 'references/form.txt' } }],
      }),
    ),
    jsonReply(wireResponse('Dear Sir or Madam, …')),
  ],
  main: (tell) => converse(tell, rootAgent, ['Write a letter.']),
};
export default program;
