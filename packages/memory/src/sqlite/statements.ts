import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Every statement of the driver, prepared once. */
export type MemoryStatements = Readonly<Record<keyof typeof SQL, StatementSync>>;

const SESSION = 'user = ?1 AND session_id = ?2';

const SQL = {
  user: 'SELECT pk FROM eventloom_memory_users WHERE app_name = ?1 AND user_id = ?2',
  insertUser: 'INSERT INTO eventloom_memory_users (app_name, user_id) VALUES (?1, ?2) RETURNING pk',

  /** Writes nothing for an event that is already remembered, or that was deleted. */
  insertMemory: `
    INSERT INTO eventloom_memories (user, session_id, event_id, invocation_id, timestamp, author, content)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
    WHERE NOT EXISTS (SELECT 1 FROM eventloom_memories_deleted WHERE ${SESSION} AND event_id = ?3)
    ON CONFLICT DO NOTHING RETURNING pk`,
  insertWord: 'INSERT INTO eventloom_memory_words (user, word, memory) VALUES (?1, ?2, ?3)',
  isRemembered: `SELECT 1 FROM eventloom_memories WHERE ${SESSION} AND event_id = ?3`,

  countMemories: 'SELECT count(*) AS memories FROM eventloom_memories WHERE user = ?1',
  countWord: 'SELECT count(*) AS memories FROM eventloom_memory_words WHERE user = ?1 AND word = ?2',
  /** ?2 is JSON, a list of [word, weight]. Only keys are sorted; contents are read only for the results. */
  search: `
    WITH ranks AS (
      SELECT found.memory, sum(weights.value ->> 1) AS rank
      FROM json_each(?2) AS weights
      CROSS JOIN eventloom_memory_words AS found ON found.user = ?1 AND found.word = weights.value ->> 0
      GROUP BY found.memory)
    SELECT pk FROM ranks CROSS JOIN eventloom_memories ON pk = memory
    WHERE ?3 IS NULL OR session_id <> ?3
    ORDER BY rank DESC, timestamp DESC, pk DESC LIMIT ?4`,
  memory: 'SELECT session_id, event_id, timestamp, author, content FROM eventloom_memories WHERE pk = ?1',

  deleteMemory: `DELETE FROM eventloom_memories WHERE ${SESSION} AND event_id = ?3`,
  markDeleted: `INSERT INTO eventloom_memories_deleted (user, session_id, event_id) VALUES (?1, ?2, ?3)`,
  deleteRewound: `
    DELETE FROM eventloom_memories
    WHERE ${SESSION} AND timestamp <= ?4 AND (timestamp, pk) >= (
      SELECT timestamp, pk FROM eventloom_memories
      WHERE ${SESSION} AND invocation_id = ?3 ORDER BY timestamp, pk LIMIT 1)`,
  deleteSession: `DELETE FROM eventloom_memories WHERE ${SESSION}`,
  forgetDeletedOfSession: `DELETE FROM eventloom_memories_deleted WHERE ${SESSION}`,
  deleteOfUser: 'DELETE FROM eventloom_memories WHERE user = ?1',
  forgetDeletedOfUser: 'DELETE FROM eventloom_memories_deleted WHERE user = ?1',
  deleteUser: 'DELETE FROM eventloom_memory_users WHERE pk = ?1',
} as const;

export function prepareStatements(database: DatabaseSync): MemoryStatements {
  const prepared: Partial<Record<keyof typeof SQL, StatementSync>> = {};
  for (const [name, sql] of Object.entries(SQL)) prepared[name as keyof typeof SQL] = database.prepare(sql);
  return prepared as MemoryStatements;
}
