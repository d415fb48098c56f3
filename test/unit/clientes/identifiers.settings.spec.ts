import { describe, expect, it } from '@jest/globals';
import { IdentifiersSettings } from '../../../src/clientes/identifiers.settings.js';
import { variableOf } from '../../../src/config/setting.js';

describe('the settings of the identifiers', () => {
  it('keep the names and defaults of the reference', () => {
    expect(variableOf(IdentifiersSettings, 'incluirPrefijoC')).toBe('MCP_CORP_IDENTIFIERS__INCLUIR_PREFIJO_C');
    expect(variableOf(IdentifiersSettings, 'validarDigitoVerificador')).toBe(
      'MCP_CORP_IDENTIFIERS__VALIDAR_DIGITO_VERIFICADOR',
    );
    expect({ ...new IdentifiersSettings() }).toEqual({ incluirPrefijoC: false, validarDigitoVerificador: true });
  });
});
