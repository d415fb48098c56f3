import { type ChaosCase } from './law.js';
import { networkCases } from './network-cases.js';
import { postgresCases } from './postgres-cases.js';
import { saldoCases } from './saldo-cases.js';
import { type SourceName } from './stage.js';

/** Every source has the network's faults, and its own. A new source adds its line here. */
export const CHAOS: Readonly<Record<SourceName, readonly ChaosCase[]>> = {
  postgres: [...networkCases('postgres'), ...postgresCases()],
  saldo_api: [...networkCases('saldo_api'), ...saldoCases()],
};
