import { InvalidRequestError } from '@eventloom/core';
import type { MemoryRule } from './memory-rule.ts';
import { find, KEY, OWNER, said } from './samples.ts';

/** A text, queries that find it, and queries that do not. */
interface Sample {
  readonly text: string;
  readonly found: readonly string[];
  readonly missed: readonly string[];
}

const SPACED: readonly Sample[] = [
  { text: 'Her cat, 42, reads e-mail.', found: ['CAT', 'cat?', 'reads', '42', 'mail e'], missed: ['ca', 'cats', '4'] },
  { text: 'snake_case don’t', found: ['snake', 'case', 'don'], missed: ['snakecase', 'dont'] },
  { text: `${'x'.repeat(70)} y`, found: ['x'.repeat(70), 'x'.repeat(64), 'X'.repeat(6)], missed: ['x'.repeat(63)] },
  { text: 'Мой дом', found: ['дом', 'МОЙ'], missed: ['до'] },
  { text: 'मेरा नाम हिन्दी है', found: ['हिन्दी', 'नाम'], missed: ['हि', 'न'] },
  { text: 'اسمي ليلى ١٢', found: ['ليلى', '١٢'], missed: ['لي'] },
  { text: 'कमल का फूल', found: ['कमल', 'फूल'], missed: ['कमला', 'फल'] },
  { text: 'constructor __proto__ toString', found: ['constructor', 'proto', 'tostring'], missed: ['hasOwnProperty'] },
];

const FOLDED: readonly Sample[] = [
  { text: 'STRASSE in Köln', found: ['straße', 'STRAẞE', 'KÖLN', 'Ko\u0308ln'], missed: ['kln'] },
  { text: 'ΟΔΟΣ οδός', found: ['οδος', 'οδοσ', 'ΟΔΌΣ'], missed: ['οδ'] },
  { text: 'ΟΔΟΣ’Α ΐα', found: ['οδος', 'Ϊ\u0301α'], missed: ['ι'] },
  { text: '𝐎wl №5', found: ['owl', 'no5'], missed: ['wl'] },
  { text: 'İstanbul', found: ['istanbul', 'ISTANBUL'], missed: ['tanbul'] },
  { text: 'Ｗｉｄｅ ﬁsh', found: ['wide', 'FISH'], missed: ['w'] },
];

const BARE: readonly Sample[] = [
  { text: 'un café crème', found: ['cafe', 'CAFÉ', 'cafe\u0301', 'creme'], missed: ['caf'] },
  { text: 'un cafe creme', found: ['café', 'CRÈME'], missed: ['caf'] },
  { text: 'đường ở Hà Nội', found: ['duong', 'ha', 'noi', 'Nội'], missed: ['uong'] },
  { text: 'Łódź, Århus, Bjørn', found: ['lodz', 'arhus', 'bjorn', 'bjørn'], missed: ['dz', 'bj'] },
  { text: 'ёлка и чай', found: ['елка', 'чай'], missed: ['чаи'] },
  { text: 'ο Οδυσσέας τῇ ἀρχῇ', found: ['οδυσσεας', 'Οδυσσέας', 'αρχη', 'ΑΡΧΗ'], missed: ['οδυσσα'] },
  { text: 'كِتَابٌ جَمِيلٌ', found: ['كتاب', 'كِتاب', 'كتـاب', 'جميل'], missed: ['كتب'] },
  { text: 'أحمد إلى المدرسة', found: ['احمد', 'الي', 'المدرسه'], missed: ['حمد'] },
  { text: 'سَفر בְּרֵאשִׁית', found: ['בראשית', 'سفر'], missed: ['בראש'] },
  { text: 'がくせい パン', found: ['がく', 'パン', 'ﾊﾟﾝ'], missed: ['かく', 'ハン'] },
];

const JOINED: readonly Sample[] = [
  { text: 'قرأت الكتاب', found: ['كتاب', 'الكتاب', 'والكتاب', 'بالكتاب', 'للكتاب', 'وكتاب', 'لكتاب'], missed: ['تاب'] },
  { text: 'هذا كتاب', found: ['الكتاب', 'كالكتاب', 'فكتاب'], missed: ['الكاتب', 'كتابة'] },
  { text: 'قَرَأْتُ وَالْكِتَابُ هُنَا', found: ['كتاب', 'الكتاب'], missed: ['كتب'] },
  { text: 'הספר על השולחן', found: ['ספר', 'הספר', 'בספר', 'שולחן', 'והשולחן'], missed: ['ספרים', 'פר'] },
  { text: 'וכשהילד בגן הים', found: ['ילד', 'הילד', 'ים'], missed: ['לד', 'ם'] },
  { text: 'ספר', found: ['הספר', 'ובספר'], missed: ['סופר'] },
];

const EMOJI: readonly Sample[] = [
  { text: 'Done 👍🏽!', found: ['👍', '👍🏿', 'great 👍'], missed: ['👎', '🏽'] },
  { text: 'I ❤️ it', found: ['❤', '❤️'], missed: ['💔', '\ufe0f'] },
  { text: '👩‍💻 at work', found: ['👩‍💻', '👩', '💻'], missed: ['👨', '\u200d'] },
  { text: 'to 🇫🇷🇩🇪', found: ['🇫🇷', '🇩🇪'], missed: ['🇷🇩', '🇫🇮'] },
];

const DENSE: readonly Sample[] = [
  { text: '我昨天去了北京大学。', found: ['北京', '大学', '京', '北京在哪里'], missed: ['北大', '上海', '東'] },
  { text: '東京タワーに行きました', found: ['東京', 'タワー', '東', 'ﾀﾜｰ'], missed: ['京都', 'ワタ'] },
  { text: 'ผมชอบกินข้าวผัด', found: ['ข้าว', 'ข้าวผัด', 'กิน'], missed: ['หมา'] },
  { text: '서울에서 만나요', found: ['서울', '만나'], missed: ['부산'] },
  { text: 'iPhone15を買う', found: ['iphone15', '買う', '買'], missed: ['iphone', '15'] },
];

function wordRule(id: string, title: string, samples: readonly Sample[]): MemoryRule {
  return {
    id,
    title,
    async check(subject) {
      for (const { text, found, missed } of samples) {
        await subject.service.deleteMemories(OWNER);
        await subject.service.addEventsToMemory({ ...KEY, events: [said('one', text)] });
        for (const query of found) {
          subject.expect.same(`the memories found by ${query}`, await find(subject, query), [text]);
        }
        for (const query of missed)
          subject.expect.same(`the memories found by ${query}`, await find(subject, query), []);
      }
    },
  };
}

/** Rules about how a text is split into words. */
export const wordRules: readonly MemoryRule[] = [
  wordRule(
    'word.whole',
    'A word is a sequence of letters, marks and numbers of any script, and is found as a whole.',
    SPACED,
  ),
  wordRule('word.folded', 'Words are the same in any case, width and composition.', FOLDED),
  wordRule('word.bare', 'Words are the same with accents and vowel points and without.', BARE),
  wordRule(
    'word.joined',
    'An Arabic or Hebrew word is found with and without its prefixes, such as the article.',
    JOINED,
  ),
  wordRule('word.emoji', 'An emoji is a word in any colour, and so is each emoji of a joined sequence.', EMOJI),
  wordRule(
    'word.dense',
    'In scripts without spaces between words, each pair of characters is a word, and so is a single one.',
    DENSE,
  ),
  {
    id: 'word.any',
    title: 'A memory is found if it has one word of the query, and a query without words finds nothing.',
    async check(subject) {
      const events = [said('one', 'owl'), said('two', 'wolf'), said('three', 'bear'), said('four', '… ?!')];
      await subject.service.addEventsToMemory({ ...KEY, events });
      subject.expect.same('of two words', (await find(subject, 'the owl or the wolf')).toSorted(), ['owl', 'wolf']);
      for (const query of ['', ' \n\t', '?!', '…', '*', '"', '🦉'])
        subject.expect.same(`the memories found by ${JSON.stringify(query)}`, await find(subject, query), []);
    },
  },
  {
    id: 'word.no-operators',
    title: 'Operators of the storage in a query are searched as text.',
    async check(subject) {
      const events = [said('one', 'red owl'), said('two', 'red wolf')];
      await subject.service.addEventsToMemory({ ...KEY, events });
      for (const query of [
        '"owl',
        'owl*',
        'NOT owl',
        'owl -',
        'content:owl',
        'NEAR(owl)',
        '^owl',
        "owl' OR ''='",
        '%owl_',
      ]) {
        subject.expect.same(`the memories found by ${query}`, await find(subject, query), ['red owl']);
      }
      subject.expect.same('the memories found by ow%', await find(subject, 'ow%'), []);
    },
  },
  {
    id: 'word.query-length',
    title: 'Only the first 64 different words of a query count.',
    async check(subject) {
      const words = Array.from({ length: 70 }, (_, number) => `word${number}`);
      const events = words.map((word) => said(word, word));
      await subject.service.addEventsToMemory({ ...KEY, events });
      const query = `${'word0 '.repeat(100)} ${words.join(' ')}`;
      const found = await find(subject, query, { limit: 100 });
      subject.expect.same('the memories found', found.toSorted(), words.slice(0, 64).toSorted());
      const long = await subject.expect.fulfils('a very long query', find(subject, 'word1 '.repeat(200_000)));
      subject.expect.same('the memories found by it', long, ['word1']);
    },
  },
  {
    id: 'word.bad-query-refused',
    title: 'A query that is not a string is refused.',
    async check({ service, expect }) {
      for (const query of [undefined, null, 1, {}, ['owl']]) {
        const search = service.searchMemory({ ...OWNER, query: query as string });
        await expect.rejects(JSON.stringify(query) ?? 'none', search, InvalidRequestError);
      }
    },
  },
];
