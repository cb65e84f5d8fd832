import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { geminiModels } from 'eventloom';
import { OfflineModel } from './stage/offline-model.ts';
import { Stage } from './stage/stage.ts';
import type { Story } from './stage/story.ts';

const folder = import.meta.dirname;
const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'agent.ts')));
const [name, ...args] = process.argv.slice(2);
if (name !== undefined && names.includes(name)) {
  await play(name);
} else {
  console.log(`pnpm example <name>, where the name is one of\n  ${names.join('\n  ')}`);
  process.exitCode = name === undefined ? 0 : 2;
}

async function play(name: string): Promise<void> {
  const { story } = (await import(`./${name}/story.ts`)) as { readonly story: Story };
  const apiKey = process.env['GEMINI_API_KEY'] ?? '';
  const offline = new OfflineModel(story.replies);
  const sessionService = story.keepsSessions === true ? openSessions() : undefined;
  const stage = new Stage(story, {
    models: apiKey === '' ? () => offline : geminiModels({ apiKey }),
    print: (line) => console.log(line),
    ...(sessionService && { sessionService }),
  });
  if (apiKey === '') stage.note('GEMINI_API_KEY is not set: what the models say is scripted, all else is real.');
  try {
    await story.tell(stage, args);
  } finally {
    await stage.close();
    sessionService?.close();
  }
}

function openSessions(): SqliteSessionService {
  mkdirSync('.eventloom', { recursive: true });
  return new SqliteSessionService({ path: join('.eventloom', 'examples.sqlite') });
}
