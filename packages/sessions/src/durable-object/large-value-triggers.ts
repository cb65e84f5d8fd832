/** Conditions on the row that an insert replaces. */
const session = 'session = NEW.session AND key = NEW.key';
const user = 'app_name = NEW.app_name AND user_id = NEW.user_id AND key = NEW.key';

/**
 * Condition that the initial state does not refer to the same value. When a session is deleted, its initial state is
 * deleted after its state.
 */
const isNotInitial = (row: string): string => `
  NOT EXISTS (SELECT 1 FROM eventloom_initial_state AS initial
    WHERE initial.session = ${row}.session AND initial.key = ${row}.key AND initial.value = ${row}.value)`;

const onInsert = (table: string, column: string): string => `
  CREATE TRIGGER IF NOT EXISTS eventloom_large_${table}_${column} AFTER INSERT ON eventloom_${table}
  WHEN NEW.${column} GLOB '@*' BEGIN
    DELETE FROM eventloom_loose_values WHERE text = NEW.${column};
  END;`;

const onDelete = (table: string, column: string, condition = 'TRUE'): string => `
  CREATE TRIGGER IF NOT EXISTS eventloom_large_${table}_${column}_deleted AFTER DELETE ON eventloom_${table}
  WHEN OLD.${column} GLOB '@*' AND ${condition} BEGIN
    INSERT OR REPLACE INTO eventloom_loose_values VALUES (OLD.${column});
  END;`;

const onUpdate = (table: string, column: string): string => `
  CREATE TRIGGER IF NOT EXISTS eventloom_large_${table}_${column}_updated AFTER UPDATE OF ${column} ON eventloom_${table}
  WHEN OLD.${column} IS NOT NEW.${column} BEGIN
    INSERT OR REPLACE INTO eventloom_loose_values SELECT OLD.${column} WHERE OLD.${column} GLOB '@*';
    DELETE FROM eventloom_loose_values WHERE text = NEW.${column};
  END;`;

/** A trigger for replaced rows, because replacing a row does not run its delete trigger. */
const onReplace = (table: string, key: string, condition = 'TRUE'): string => `
  CREATE TRIGGER IF NOT EXISTS eventloom_large_${table}_replaced BEFORE INSERT ON eventloom_${table} BEGIN
    INSERT OR REPLACE INTO eventloom_loose_values
      SELECT value FROM eventloom_${table} AS old WHERE ${key} AND value GLOB '@*' AND ${condition};
  END;`;

/**
 * Triggers that maintain the list of loose values, to which no row refers, in the transaction that changes the rows, so that no code of the
 * driver can forget it. Rows without a large value cause no further writes.
 */
export const largeValueTriggers = [
  onInsert('events', 'event'),
  onDelete('events', 'event'),
  ...['response', 'actions'].flatMap((column) => [
    onInsert('tool_calls', column),
    onUpdate('tool_calls', column),
    onDelete('tool_calls', column),
  ]),
  onInsert('session_state', 'value'),
  onReplace('session_state', session, isNotInitial('old')),
  onDelete('session_state', 'value', isNotInitial('OLD')),
  onInsert('user_state', 'value'),
  onReplace('user_state', user),
  onDelete('user_state', 'value'),
  onInsert('initial_state', 'value'),
  onDelete('initial_state', 'value'),
].join('');
