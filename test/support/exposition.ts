/** One sample of Prometheus's text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** What a scrape says, read as strictly as Prometheus does: a line that is none is an error. */
export class Exposition {
  readonly samples: readonly Sample[];
  /** Kind of each metric, by its name. */
  readonly types: ReadonlyMap<string, string>;

  constructor(readonly text: string) {
    const lines = text.split('\n').filter((line) => line !== '');
    this.types = new Map(
      lines.filter((line) => line.startsWith('# TYPE ')).map((line) => line.split(' ').slice(2) as [string, string]),
    );
    this.samples = lines
      .filter((line) => !line.startsWith('#'))
      .map((line) => {
        const [, name, labels = '', value] = LINE.exec(line) ?? [];
        if (name === undefined) throw new Error(`no sample: ${line}`);
        const read = [...labels.matchAll(LABEL)].map(([, key, text]) => [key, text] as [string, string]);
        return { name, labels: Object.fromEntries(read), value: Number(value) };
      });
  }

  static async of(url: string, headers: Record<string, string> = {}): Promise<Exposition> {
    const response = await fetch(url, { headers });
    if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
    return new Exposition(await response.text());
  }

  of(name: string, labels: Readonly<Record<string, string>> = {}): Sample[] {
    return this.samples.filter(
      (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
  }

  /** Sum over the samples of that name and those labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.of(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  values(label: string): Set<string> {
    return new Set(this.samples.flatMap(({ labels }) => labels[label] ?? []));
  }
}
