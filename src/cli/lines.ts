import { StringDecoder } from 'node:string_decoder';

/** Four times the longest line that the server writes. */
const MAX_LINE = 65_536;

/**
 * Hands over one line after the other, in bounded memory: a line longer than 64 Ki characters is passed over and reported
 * as `skipped`. A last line without a newline counts.
 */
export async function eachLine(
  input: AsyncIterable<Uint8Array | string>,
  line: (text: string) => void,
  skipped: () => void,
): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let tooLong = false;
  const take = (text: string): void => {
    if (tooLong || text.length > MAX_LINE) skipped();
    else line(text);
    tooLong = false;
  };
  for await (const chunk of input) {
    const text = rest + (typeof chunk === 'string' ? chunk : decoder.write(Buffer.from(chunk)));
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      take(text.slice(from, end));
      from = end + 1;
    }
    rest = text.slice(from);
    if (rest.length > MAX_LINE) {
      tooLong = true;
      rest = '';
    }
  }
  rest += decoder.end();
  if (tooLong || rest !== '') take(rest);
}
