import { HttpSourceSettings } from '../../connectors/http/http-source-settings.js';

/** The balance API (spec §1.3): the fields of any HTTP source, under its own block of variables. */
export class SaldoApiSettings extends HttpSourceSettings {
  static readonly section = 'SALDO_API';
  static readonly title = 'Source saldo_api (balance API)';
}
