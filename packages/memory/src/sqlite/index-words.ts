import type { Content } from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';
import { memoryWords } from '../memory-words.ts';

/** Writes the index of words anew, of all memories. Called inside a transaction. */
export function indexAllWords(database: DatabaseSync): void {
  database.exec('DELETE FROM eventloom_memory_words');
  const insert = database.prepare('INSERT INTO eventloom_memory_words (user, word, memory) VALUES (?1, ?2, ?3)');
  for (const row of database.prepare('SELECT pk, user, content FROM eventloom_memories').iterate()) {
    const content = JSON.parse(String(row['content'])) as Content;
    for (const word of memoryWords(content)) insert.run(Number(row['user']), word, Number(row['pk']));
  }
}
