import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';

test('probe', async () => {
  const stub = env.STORAGE.get(env.STORAGE.newUniqueId());
  await runInDurableObject(stub, (_o: any, state: any) => {
    const { sql } = state.storage;
    const run = (q: string, ...b: any[]) => { try { return JSON.stringify(sql.exec(q, ...b).toArray())?.slice(0, 200); } catch (e) { return 'ERR ' + String(e).slice(0, 300); } };
    const out: any[] = [];
    out.push(run('CREATE TABLE t (pk INTEGER PRIMARY KEY, k TEXT, v TEXT) STRICT'));
    out.push(run('SELECT typeof(?1) AS t, typeof(?1 << 31 | ?2) AS b, typeof((?1<<31)+?2) AS c, (?1<<31|?2) = ((1<<31)+2) AS eq', 1, 2));
    out.push(run('INSERT INTO t VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING', 1, 'a', 'b'), run('SELECT changes() AS changes'));
    out.push(run('INSERT INTO t VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING', 1, 'a', 'b'), run('SELECT changes() AS changes'));
    out.push(run('PRAGMA page_size'), run('PRAGMA journal_mode'), run('SELECT sqlite_version()'), run("SELECT name FROM sqlite_schema"));
    out.push(run('BEGIN'));
    const fits = (n: number) => { try { sql.exec('INSERT OR REPLACE INTO t VALUES (7, ?1, ?2)', 'k', 'x'.repeat(n)); return true; } catch (e) { out.push(n, String(e)); return false; } };
    let lo = 0, hi = 1 << 26;
    while (lo < hi) { const m = Math.ceil((lo + hi) / 2); if (fits(m)) lo = m; else hi = m - 1; }
    out.push('max text', lo);
    out.push(run(`SELECT ${Array.from({ length: 101 }, (_, i) => '?' + (i + 1)).join('+')} AS s`, ...Array(101).fill(1)));
    out.push(run(`SELECT ${Array.from({ length: 100 }, (_, i) => '?' + (i + 1)).join('+')} AS s`, ...Array(100).fill(1)));
    console.log(out.join('\n'));
  });
});
