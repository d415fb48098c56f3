import {
  type Connector,
  type ConnectorRunOptions,
  type Failure,
  type Operation,
} from '../../../../src/resilience/connector.js';
import { SourceSettings } from '../../../../src/connectors/source-settings.js';

/** A connector whose every step a test can rewrite; by default all is well. Counts what it was asked. */
export class ScriptedConnector implements Connector<string> {
  connects = 0;
  checks = 0;
  closes = 0;
  onConnect: (signal: AbortSignal) => Promise<void> = async () => undefined;
  onHealth: (signal: AbortSignal) => Promise<boolean> = async () => true;
  onClose: () => Promise<void> = async () => undefined;
  figures: Record<string, number> | undefined;

  constructor(readonly name: string) {}

  connect(signal: AbortSignal): Promise<void> {
    this.connects += 1;
    return this.onConnect(signal);
  }

  health(signal: AbortSignal): Promise<boolean> {
    this.checks += 1;
    return this.onHealth(signal);
  }

  close(): Promise<void> {
    this.closes += 1;
    return this.onClose();
  }

  run<T>(operation: Operation<string, T>, { signal }: ConnectorRunOptions): Promise<T> {
    return operation(this.name, signal);
  }

  classify(): Failure {
    return { kind: 'infrastructure' };
  }

  stats(): Record<string, number> {
    return this.figures ?? {};
  }
}

export class ScriptedSettings extends SourceSettings {
  static readonly section = 'GUION';
}

export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
