import { Matches, MaxLength } from 'class-validator';
import { Setting } from '../config/setting.js';

export class DiagnosticsSettings {
  static readonly section = 'DIAGNOSTICS';
  static readonly title = 'Diagnostics';

  @Setting({
    doc: 'Bearer token that /diagnostics asks for. In production /diagnostics is off without it.',
    secret: true,
  })
  @MaxLength(4096)
  @Matches(/^[\x21-\x7e]+$/, { message: 'must be printable ASCII without spaces, to travel in a header' })
  token?: string;
}
