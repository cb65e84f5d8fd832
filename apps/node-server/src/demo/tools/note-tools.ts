import type { ToolContext } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';

/** Notes belong to the user: every session of theirs sees them. */
const NOTES = 'user:notes';

function readNotes({ state }: ToolContext): string[] {
  const notes: unknown = state.get(NOTES);
  return Array.isArray(notes) ? notes.map(String) : [];
}

/** Adds a note to the user's state. */
export const saveNoteTool = new FunctionTool({
  name: 'save_note',
  description: 'Saves a note for the user. It is there in later conversations too.',
  parameters: z.object({ text: z.string().min(1) }),
  execute({ text }, context) {
    const notes = [...readNotes(context), text];
    context.state.set(NOTES, notes);
    return { saved: text, notes: notes.length };
  },
});

/** Reads the notes back. */
export const listNotesTool = new FunctionTool({
  name: 'list_notes',
  description: 'Lists the notes that were saved for the user.',
  execute: (_args, context) => ({ notes: readNotes(context) }),
});
