import { isRecord } from '../json-schema.js';
import { ACCEPTED, canAnswer, type Form, type Question } from './questions.js';

/** What the caller has answered so far, and what it can be asked. Answers come from outside: a form's are checked. */
export interface Dialogue {
  /** Whether the client says that it can answer `question`; false for every client of the 2025 era. */
  can(question: Question): boolean;
  /** The accepted form under `key`; undefined when it was not answered, was declined, or does not match its schema. */
  accepted<T>(key: string, form: Form<T>): T | undefined;
  /** The answer under `key` as it came, for the kinds of question that are no form; undefined when there is none. */
  answer(key: string): Readonly<Record<string, unknown>> | undefined;
  /** What the last round left with `ask(…, state)`; undefined in the first. */
  readonly state: unknown;
}

type Answers = Readonly<Record<string, unknown>>;

export class Conversation implements Dialogue {
  constructor(
    private readonly capabilities: Answers,
    private readonly answers: Answers,
    readonly state: unknown,
  ) {}

  can(question: Question): boolean {
    return canAnswer(this.capabilities, question);
  }

  accepted<T>(key: string, { schema }: Form<T>): T | undefined {
    const answer = ACCEPTED.safeParse(this.answer(key));
    const checked = answer.success ? schema.safeParse(answer.data.content) : undefined;
    return checked?.success === true ? checked.data : undefined;
  }

  answer(key: string): Answers | undefined {
    const answer = Object.hasOwn(this.answers, key) ? this.answers[key] : undefined;
    return isRecord(answer) ? answer : undefined;
  }
}

/** Of an entry that does not ask, and of a caller that cannot be asked. */
export const NO_DIALOGUE: Dialogue = new Conversation({}, {}, undefined);
