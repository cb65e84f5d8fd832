import { expect, test } from 'vitest';
import { htmlToText } from './html-to-text.ts';

test.each([
  [
    'blocks become lines, and inline elements do not',
    '<h1>A</h1><p>Some <b>bold</b> text<br>more</p>',
    'A\nSome bold text\nmore',
  ],
  ['the title is kept', '<head><title>T</title><meta name=x></head><body>B</body>', 'T\nB'],
  ['scripts and styles are left out', 'a<script>if (1 < 2) "<p>x</p>"</script><STYLE>p{}</STYLE>b', 'a\nb'],
  ['a script that is not closed hides the rest', 'a<script>b', 'a'],
  ['comments are left out', 'a<!-- <p>x</p> -->b<!-- c', 'ab'],
  [
    'entities are decoded once',
    '&lt;b&gt; &amp;lt; &#65;&#x42; &nbsp;&euro; &unknown; &#0;',
    '<b> &lt; AB € &unknown; &#0;',
  ],
  ['white space is joined', '  a \t b  \n\n\n c ', 'a b\nc'],
  ['a sign that begins no element stays', '1 < 2 and 3 <4', '1 < 2 and 3 <4'],
  ['an element that is not closed ends the text', 'a<p class="', 'a'],
  ['cells of a table are lines', '<table><tr><td>1</td><td>2</td></tr></table>', '1\n2'],
])('%s', (_, html, text) => {
  expect(htmlToText(html)).toBe(text);
});

test.each(['<script', '<', '<!--', '</', '&#', '<a ', ' '])('htmlToText takes linear time for many of %j', (piece) => {
  // Quadratic work would be 10^11 steps and exceed the test's time-out.
  htmlToText(piece.repeat(300_000));
});
