import { FunctionTool } from 'eventloom';

/** Lets a model read the session's files of text. */
export const loadArtifact = new FunctionTool({
  name: 'load_artifact',
  description: 'Reads a file of this session. Without a name it lists them.',
  parameters: { type: 'object', properties: { name: { type: 'string' } } },
  execute: async ({ name }, toolContext) => {
    if (typeof name !== 'string') return { files: await toolContext.listArtifacts() };
    const part = await toolContext.loadArtifact(name);
    return part?.text === undefined ? { error: `there is no file of text "${name}"` } : { text: part.text };
  },
});
