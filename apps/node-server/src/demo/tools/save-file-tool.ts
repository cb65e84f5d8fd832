import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';

/** Saves a text file as an artifact. */
export const saveFileTool = new FunctionTool({
  name: 'save_file',
  description: 'Saves a text file for the user. Saving under the same name makes a new version.',
  parameters: z.object({ filename: z.string().min(1).describe('e.g. list.txt'), text: z.string() }),
  async execute({ filename, text }, context) {
    const data = Buffer.from(text, 'utf8').toString('base64');
    const version = await context.saveArtifact(filename, { inlineData: { mimeType: 'text/plain', data } });
    return { filename, version };
  },
});
