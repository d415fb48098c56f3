import { Setting } from '../config/setting.js';
import { ToBoolean } from '../config/transforms.js';

/** `MCP_CORP_IDENTIFIERS__…` (spec §1.4). */
export class IdentifiersSettings {
  static readonly section = 'IDENTIFIERS';
  static readonly title = 'Identifiers';

  @Setting({ doc: 'Accept the letter C, whose check-digit formula comes from a single source.' })
  @ToBoolean()
  incluirPrefijoC = false;

  @Setting({
    doc:
      'Refuse an identifier whose check digit is wrong; when false a wrong digit is ignored, and nine bare digits that ' +
      'begin with 0 are refused, because nothing then tells a RIF from a padded cédula.',
  })
  @ToBoolean()
  validarDigitoVerificador = true;
}
