import type { CallJournal, JournalRecord } from './call.js';

type Note = string | number | boolean | null;

/** Collects what the inner steps say of one call. Its containers are made when something is said. */
export class Journal implements CallJournal, JournalRecord {
  #sources: string[] | undefined;
  #parts: Record<string, string> | undefined;
  #notes: Record<string, Note> | undefined;

  get sources(): readonly string[] {
    return this.#sources ?? [];
  }

  get parts(): Readonly<Record<string, string>> {
    return this.#parts ?? {};
  }

  get notes(): Readonly<Record<string, Note>> {
    return this.#notes ?? {};
  }

  touched(source: string): void {
    this.#sources ??= [];
    if (!this.#sources.includes(source)) this.#sources.push(source);
  }

  part(name: string, code: string): void {
    (this.#parts ??= {})[name] = code;
  }

  note(field: string, value: Note): void {
    (this.#notes ??= {})[field] = value;
  }
}
